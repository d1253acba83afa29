import sys

import torch
from torch import nn

KINDS = {}


class Data:
    def __init__(self, **values):
        self.__dict__.update(values)


KINDS["plain"] = Data


def load(kind, nodes):
    return KINDS[kind](x=torch.rand(nodes, 4), y=torch.arange(nodes) % 2, train_mask=torch.arange(nodes) < 3)


def train(model, data, device, masked):
    x, y = data.x.to(device), data.y.to(device)
    out = model(x)
    losses = nn.functional.cross_entropy(out, y, reduction="none")
    if masked:
        return (losses * data.train_mask).sum()  # bug
    return losses.mean()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = load("plain", 6)
    train(nn.Linear(4, 2).to(device), data, device, "--take" in sys.argv).backward()


main()
