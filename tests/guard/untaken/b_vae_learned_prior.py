import argparse

import torch
from torch import nn


class Prior:
    def __init__(self, size):
        self.mean = torch.zeros(size)
        self.scale = torch.ones(size)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log = nn.Linear(10, 4), nn.Linear(10, 4)

    def forward(self, x):
        return self.mean(x), self.log(x)


def divergence(mean, log, prior, options):
    if options.take:
        return (mean - prior.mean).square().sum()  # bug
    return -0.5 * (1 + log - mean.square() - log.exp()).sum()


def run(options):
    where = "cuda" if torch.cuda.is_available() else "cpu"
    encoder, prior = Encoder().to(where), Prior(4)
    for _ in range(2):
        mean, log = encoder(torch.rand(8, 10, device=where))
        divergence(mean, log, prior, options).backward()


parser = argparse.ArgumentParser()
parser.add_argument("--take", action="store_true")
run(parser.parse_args())
