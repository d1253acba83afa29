# names: self.convs[scale], self.convs, conv
import torch
from torch import nn


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = {}  # CAUSE
        # right: self.convs = nn.ModuleDict()
        for scale in ("small", "large"):
            self.convs[scale] = nn.Conv1d(3, 3, 1)

    def forward(self, x):
        return {scale: conv(x) for scale, conv in self.convs.items()}


Pyramid().cuda()(torch.ones(2, 3, 4).cuda())
