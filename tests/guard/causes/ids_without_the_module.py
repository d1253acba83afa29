# names: self.net, self.net(x), net, device_ids
import torch
from torch import nn


class Runner:
    def __init__(self):
        self.net = nn.DataParallel(nn.Linear(3, 3).cuda(), device_ids=[1])  # CAUSE
        # right: self.net = nn.DataParallel(nn.Linear(3, 3).cuda(), device_ids=[0])

    def run(self, x):
        return self.net(x) + x


runner = Runner()
runner.run(torch.ones(4, 3).cuda())
