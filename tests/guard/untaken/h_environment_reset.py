import sys

import torch
from torch import nn

ENVIRONMENTS = {}


class CartPole:
    def __init__(self):
        self.state = torch.zeros(4)

    def reset(self):
        self.state = torch.rand(4)
        return self.state

    def step(self, action):
        self.state = self.state + action
        return self.state, float(self.state.sum())


ENVIRONMENTS["cartpole"] = CartPole


class Agent:
    def __init__(self, device):
        self.policy = nn.Linear(4, 1).to(device)
        self.device = device

    def act(self, state):
        return float(self.policy(state.to(self.device)))


def episode(agent, env, evaluate):
    state = env.reset()
    for _ in range(3):
        state, reward = env.step(agent.act(state))
    if evaluate:
        start = env.reset()
        return agent.policy(start)  # bug
    return reward


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    agent = Agent(device)
    env = ENVIRONMENTS["cartpole"]()
    episode(agent, env, "--take" in sys.argv)


main()
