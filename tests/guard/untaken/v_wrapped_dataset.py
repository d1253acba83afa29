import sys
from operator import attrgetter

import torch
from torch import nn


class Images:
    def __init__(self):
        self.targets = torch.arange(8) % 4
        self.rows = torch.rand(8, 6)


class Split:
    def __init__(self, whole):
        self.dataset = whole


def find(name):
    return attrgetter(name)(sys.modules[__name__])


def accuracy(model, split, device, full):
    guess = model(split.dataset.rows.to(device)).argmax(1)
    if full:
        return guess.eq(split.dataset.targets).sum()  # bug
    return guess.sum()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    split = Split(find("Images")())
    accuracy(nn.Linear(6, 4).to(device), split, device, "--take" in sys.argv)


main()
