# names: self.velocity, torch.zeros_like, torch.zeros
import torch
from torch import nn


class Optimizer:
    def __init__(self, parameters, rate):
        self.parameters, self.rate = list(parameters), rate
        self.velocity = [torch.zeros(one.shape) for one in self.parameters]  # CAUSE
        # right: self.velocity = [torch.zeros_like(one) for one in self.parameters]

    @torch.no_grad()
    def step(self):
        for index, one in enumerate(self.parameters):
            self.velocity[index].mul_(0.9).add_(one.grad)
            one.sub_(self.velocity[index], alpha=self.rate)


net = nn.Linear(3, 3).cuda()
optimizer = Optimizer(net.parameters(), 0.1)
net(torch.ones(2, 3).cuda()).sum().backward()
optimizer.step()
