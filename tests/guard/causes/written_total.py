# names: self.total, torch.zeros
import torch
from torch import nn


class Meter:
    def __init__(self, size):
        self.total = torch.zeros(size)  # CAUSE
        # right: self.total = torch.zeros(size, device="cuda:0")

    def update(self, x):
        self.total += x.sum(0)

    def mean(self, reference):
        return (self.total * reference).sum()


def train(device):
    meter = Meter(3)
    net = nn.Linear(3, 3).to(device)
    for x in [torch.ones(2, 3)]:
        y = net(x.to(device)).detach()
        meter.update(y)
        meter.mean(y)


train(torch.device("cuda:0"))
