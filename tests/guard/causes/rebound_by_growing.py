# names: self.positions, positions, torch.arange
import torch
from torch import nn


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 4)
        self.register_buffer("positions", torch.arange(4))

    def forward(self, x):
        if x.shape[1] > len(self.positions):
            self.register_buffer("positions", torch.arange(x.shape[1]))  # CAUSE
            # right: self.register_buffer("positions", torch.arange(x.shape[1], device=x.device))
        return x + self.embed(self.positions)


embedding = Embedding().cuda()
embedding(torch.ones(2, 4, 4).cuda())
embedding(torch.ones(2, 6, 4).cuda())
