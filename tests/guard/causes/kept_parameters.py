# names: self.weights[0], self.weights, weight
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.weights = []  # CAUSE
        # right: self.weights = nn.ParameterList()
        for index in range(len(sizes) - 1):
            self.weights.append(nn.Parameter(torch.ones(sizes[index + 1], sizes[index])))

    def forward(self, x):
        x = nn.functional.linear(x, self.weights[0])
        return nn.functional.linear(x.relu(), self.weights[1])


Net([3, 4, 2]).cuda()(torch.ones(2, 3).cuda())
