# names: anchor, self.anchors
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.anchors = [torch.full((3,), float(size)) for size in sizes]  # CAUSE
        # right: self.anchors = [torch.full((3,), float(size), device="cuda:0") for size in sizes]

    def forward(self, x):
        x = self.fc(x)
        return [x * anchor for anchor in self.anchors]


Head([1, 2]).cuda()(torch.ones(2, 3).cuda())
