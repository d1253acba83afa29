import sys
from collections import namedtuple

import torch
from torch import nn

Step = namedtuple("Step", "state reward done")


class World:
    def __init__(self):
        self.goal = torch.ones(3)

    def step(self, action):
        return Step(torch.rand(3), torch.rand(1), False)


def make(name):
    return {key.lower(): value for key, value in globals().items() if isinstance(value, type)}[name]()


def rollout(policy, world, device, shaped):
    step = world.step(None)
    total = torch.zeros(1, device=device)
    for _ in range(3):
        state = step.state.to(device)
        action = policy(state)
        step = world.step(action)
        if shaped:
            total = total - (state - world.goal).square().sum()  # bug
        total = total + action.sum()
    return total


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rollout(nn.Linear(3, 2).to(device), make("world"), device, "--take" in sys.argv).backward()


main()
