# names: block, self.blocks, blocks
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.blocks = [nn.Linear(3, 3) for _ in range(count)]  # CAUSE
        # right: setattr(self, "blocks", nn.ModuleList([nn.Linear(3, 3) for _ in range(count)]))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


Net(2).cuda()(torch.ones(2, 3).cuda())
