# names: self.mask, mask
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mask", torch.ones(size, size))

    def grow(self, size):
        self._buffers["mask"] = torch.ones(size, size)  # CAUSE
        # right: self._buffers["mask"] = torch.ones(size, size, device=self.mask.device)

    def forward(self, x):
        if x.shape[1] > self.mask.shape[0]:
            self.grow(x.shape[1])
        return x * self.mask


attention = Attention(2).cuda()
attention(torch.ones(1, 2, 2).cuda())
attention(torch.ones(1, 4, 4).cuda())
