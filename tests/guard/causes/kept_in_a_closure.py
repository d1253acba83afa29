# names: gate, block, blocks
import torch
from torch import nn


def build(count):
    blocks = [nn.Linear(3, 3) for _ in range(count)]  # CAUSE
    # right: blocks = [nn.Linear(3, 3).cuda() for _ in range(count)]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(3, 1)

        def forward(self, x):
            for block in blocks:
                x = block(x)
            return self.out(x)

    return Net()


build(2).cuda()(torch.ones(2, 3).cuda())
