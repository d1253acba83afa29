# names: self.low, self.high, torch.zeros
import torch
from torch import nn


class Range(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.low, self.high = torch.zeros(size), torch.ones(size)  # CAUSE
        # right: self.low, self.high = torch.zeros(size).cuda(), torch.ones(size).cuda()

    def forward(self, x):
        return torch.minimum(torch.maximum(self.fc(x), self.low), self.high)


Range(3).cuda()(torch.ones(2, 3).cuda())
