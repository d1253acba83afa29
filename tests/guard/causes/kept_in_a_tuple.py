# names: block, self.blocks
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = (nn.Linear(3, 3), nn.Linear(3, 3))  # CAUSE
        # right: self.blocks = nn.ModuleList((nn.Linear(3, 3), nn.Linear(3, 3)))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


Net().cuda()(torch.ones(2, 3).cuda())
