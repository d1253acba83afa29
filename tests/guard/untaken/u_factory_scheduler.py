import sys
from functools import partial

import torch
from torch import nn


class Cosine:
    def __init__(self, steps):
        self.sigmas = torch.linspace(1, 0, steps)

    def pick(self, count):
        return torch.randint(0, len(self.sigmas), (count,))


FACTORIES = {"cosine": partial(Cosine, steps=8)}


def denoise(net, images, scheduler, weighted):
    times = scheduler.pick(len(images))
    out = net(images)
    loss = (out - images).square().mean(1)
    if weighted:
        loss = loss * scheduler.sigmas[times]  # bug
    return loss.mean()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(5, 5).to(device)
    scheduler = FACTORIES["cosine"]()
    for _ in range(2):
        denoise(net, torch.rand(4, 5).to(device), scheduler, "--take" in sys.argv).backward()


main()
