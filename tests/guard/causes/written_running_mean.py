# names: self.mean, torch.zeros
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.mean = torch.zeros(size)  # CAUSE
        # right: self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return (x - self.mean) * self.weight


norm = Norm(3).cuda()
norm(torch.ones(2, 3).cuda())
