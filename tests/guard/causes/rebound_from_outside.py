# names: agent.noise, self.noise, torch.full
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.device = torch.device(device)
        self.net = nn.Linear(3, 2).to(self.device)
        self.noise = torch.full((2,), 0.1, device=self.device)

    def act(self, x):
        return self.net(x.to(self.device)) + self.noise


def train(agent):
    for step in range(3):
        agent.act(torch.ones(2, 3))
        agent.noise = torch.full((2,), 0.1 / (step + 1))  # CAUSE
        # right: agent.noise = torch.full((2,), 0.1 / (step + 1), device=agent.device)


train(Agent("cuda:0"))
