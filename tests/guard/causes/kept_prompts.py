# names: prompt, self.prompts
import torch
from torch import nn


class Prompted(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(layers))
        self.prompts = tuple(nn.Parameter(torch.zeros(1, 3)) for _ in range(layers))  # CAUSE
        # right: self.prompts = nn.ParameterList(nn.Parameter(torch.zeros(1, 3)) for _ in range(layers))

    def forward(self, x):
        for layer, prompt in zip(self.layers, self.prompts, strict=True):
            x = layer(torch.cat([prompt, x]))
        return x


Prompted(2).cuda()(torch.ones(2, 3).cuda())
