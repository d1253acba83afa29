# names: scale, self.scales
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scales = [nn.Parameter(torch.ones(3)) for _ in range(count)]  # CAUSE
        # right: self.scales = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(count)])

    def forward(self, x):
        x = self.fc(x)
        for scale in self.scales:
            x = x * scale
        return x


Net(2).cuda()(torch.ones(2, 3).cuda())
