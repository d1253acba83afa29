# names: self.table, table, torch.arange
from functools import cached_property

import torch
from torch import nn


class Position(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.embed = nn.Embedding(size, 4)

    @cached_property
    def table(self):
        return torch.arange(self.size)  # CAUSE
        # right: return torch.arange(self.size, device=self.embed.weight.device)

    def forward(self, x):
        return self.embed(self.table[: x.shape[1]]) + x


position = Position(8).cuda()
position(torch.ones(2, 5, 4).cuda())
