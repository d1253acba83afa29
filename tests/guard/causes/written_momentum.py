# names: buffer, self.buffers, torch.zeros_like, torch.zeros
import torch
from torch import nn


class Momentum:
    def __init__(self, net):
        self.parameters = list(net.parameters())
        self.buffers = [torch.zeros(one.shape) for one in self.parameters]  # CAUSE
        # right: self.buffers = [torch.zeros(one.shape, device=one.device) for one in self.parameters]

    @torch.no_grad()
    def step(self):
        for one, buffer in zip(self.parameters, self.buffers, strict=True):
            one.add_(buffer, alpha=-0.1)


net = nn.Linear(3, 3).cuda()
net(torch.ones(2, 3).cuda()).sum().backward()
Momentum(net).step()
