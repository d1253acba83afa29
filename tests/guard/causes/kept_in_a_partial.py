# names: self.project, weight, self.weight, torch.ones, partial
from functools import partial

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.project = partial(nn.functional.linear, weight=torch.ones(2, 3))  # CAUSE
        # right: self.project = partial(nn.functional.linear, weight=torch.ones(2, 3, device="cuda:0"))

    def forward(self, x):
        return self.project(self.fc(x))


Net().cuda()(torch.ones(2, 3).cuda())
