# names: HEADS[name], head, self.head, HEADS
import torch
from torch import nn

HEADS = {"a": nn.Linear(3, 2), "b": nn.Linear(3, 4)}  # CAUSE
# right: HEADS = {"a": nn.Linear(3, 2).cuda(), "b": nn.Linear(3, 4).cuda()}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)

    def forward(self, x, name):
        return HEADS[name](self.body(x))


Net().cuda()(torch.ones(2, 3).cuda(), "a")
