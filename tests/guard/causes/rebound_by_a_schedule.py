# names: self.temperature, torch.tensor, temperature
import torch
from torch import nn


class Scheduler:
    def __init__(self, loss):
        self.loss, self.step_count = loss, 0

    def step(self):
        self.step_count += 1
        self.loss.temperature = torch.tensor([1.0, 0.5]) / self.step_count  # CAUSE
        # right: self.loss.temperature = torch.tensor([1.0, 0.5], device="cuda:0") / self.step_count


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("temperature", torch.ones(2))

    def forward(self, x):
        return (x / self.temperature).sum()


loss = Loss().cuda()
scheduler = Scheduler(loss)
for x in [torch.ones(4, 2)] * 2:
    loss(x.cuda())
    scheduler.step()
