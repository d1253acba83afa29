# names: net, GPUS, device_ids
import torch
from torch import nn

GPUS = [1, 0]  # CAUSE


def build(device):
    net = nn.Linear(3, 3).to(device)
    return nn.DataParallel(net, GPUS)  # CAUSE
    # right: return nn.DataParallel(net, GPUS[::-1])


def evaluate(net, device):
    total = torch.zeros(3, device=device)
    for x in [torch.ones(4, 3)]:
        total += net(x.to(device)).sum(0)
    return total


device = torch.device("cuda:0")
evaluate(build(device), device)
