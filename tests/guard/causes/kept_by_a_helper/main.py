# names: layer, self.layers
import torch
from layers import make_layers
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = list(make_layers(2))  # CAUSE
        # right: self.layers = nn.ModuleList(list(make_layers(2)))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


net = Net().to("cuda:0")
net(torch.ones(2, 3, device="cuda:0"))
