# names: mean, self.running, self.running["mean"]
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.running = {"mean": nn.Parameter(torch.zeros(3), False), "var": nn.Parameter(torch.ones(3), False)}  # CAUSE
        # right: self.running = nn.ParameterDict({"mean": torch.zeros(3), "var": torch.ones(3)}).requires_grad_(False)

    def forward(self, x):
        mean, var = self.running["mean"], self.running["var"]
        return nn.functional.batch_norm(self.fc(x), mean, var, training=True)


Net().cuda()(torch.ones(2, 3).cuda())
