# names: self.query, query, torch.randn, nn.Parameter
import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.attend = nn.MultiheadAttention(size, 1, batch_first=True)
        self.query = torch.randn(1, 1, size, requires_grad=True)  # CAUSE
        # right: self.query = nn.Parameter(torch.randn(1, 1, size))

    def forward(self, x):
        query = self.query.expand(len(x), -1, -1)
        return self.attend(query, x, x)[0]


Pool(4).cuda()(torch.ones(2, 3, 4).cuda())
