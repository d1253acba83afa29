# names: self.heads[task], self.heads
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.heads = {task: nn.Linear(4, 2) for task in tasks}  # CAUSE
        # right: self.heads = nn.ModuleDict({task: nn.Linear(4, 2) for task in tasks})

    def forward(self, x, task):
        return self.heads[task](self.body(x))


Net(["a", "b"]).cuda()(torch.ones(2, 3).cuda(), "b")
