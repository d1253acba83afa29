# names: self.convs[0], self.convs, conv
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.convs = []  # CAUSE
        # right: self.convs = nn.ModuleList()
        for _ in range(count):
            self.convs += [nn.Linear(3, 3)]
        self.out = nn.Linear(3, 1)

    def forward(self, x):
        return self.out(sum(conv(x) for conv in self.convs))


Net(2).cuda()(torch.ones(2, 3).cuda())
