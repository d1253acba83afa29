# names: self.weight, nn.Parameter, torch.ones
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def widen(self, size):
        self._parameters["weight"] = nn.Parameter(torch.ones(size))  # CAUSE
        # right: self._parameters["weight"] = nn.Parameter(torch.ones(size, device="cuda:0"))

    def forward(self, x):
        return x * self.weight


scale = Scale().cuda()
scale(torch.ones(2, 3).cuda())
scale.widen(4)
scale(torch.ones(2, 4).cuda())
