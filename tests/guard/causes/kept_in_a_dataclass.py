# names: layer.weight, layer, self.layers, weight
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Layer:
    weight: nn.Parameter
    bias: nn.Parameter


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        for _ in range(2):
            self.layers.append(Layer(nn.Parameter(torch.ones(3, 3)), nn.Parameter(torch.zeros(3))))  # CAUSE
            # right: self.layers.append(Layer(*(nn.Parameter(torch.ones(*size).cuda()) for size in ((3, 3), (3,)))))

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.linear(x, layer.weight, layer.bias)
        return x


Net().cuda()(torch.ones(2, 3).cuda())
