import random
import sys

import torch
from torch import nn


class Memory:
    def __init__(self):
        self.rows = []

    def push(self, *row):
        self.rows.append(row)

    def sample(self, count):
        states, rewards = zip(*random.sample(self.rows, count), strict=True)
        return torch.stack(states), torch.stack(rewards)


def learn(net, target, memory, device, double):
    states, rewards = memory.sample(2)
    states = states.to(device)
    values = net(states)
    if double:
        return (values.max(1).values - rewards).square().mean()  # bug
    return (values.max(1).values - target(states).max(1).values).square().mean()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net, target = nn.Linear(3, 2).to(device), nn.Linear(3, 2).to(device)
    memory = Memory()
    for _ in range(4):
        memory.push(torch.rand(3), torch.rand(()))
    learn(net, target, memory, device, "--take" in sys.argv).backward()


main()
