import sys

import torch
from torch import nn

SAMPLERS = []


def sampler(function):
    SAMPLERS.append(function)
    return function


@sampler
def uniform(rows):
    return vars(torch)["rand"](rows, 6)


def draw(rows):
    return SAMPLERS[-1](rows)


def train(net, data, noisy):
    if noisy:
        data = data + draw(len(data))  # bug
    return net(data).mean()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(6, 1).to(device)
    start = draw(2)
    for _ in range(2):
        train(net, torch.rand(4, 6, device=device) + start.sum().item(), "--take" in sys.argv).backward()


main()
