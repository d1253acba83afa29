# names: layer, self.stages, stage
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        first = [nn.Linear(3, 3), nn.ReLU()]
        self.stages = [first, [nn.Linear(3, 3)]]  # CAUSE
        # right: self.stages = nn.ModuleList(nn.ModuleList(one) for one in [first, [nn.Linear(3, 3)]])

    def forward(self, x):
        for stage in self.stages:
            for layer in stage:
                x = layer(x)
        return x


Net().cuda()(torch.ones(2, 3).cuda())
