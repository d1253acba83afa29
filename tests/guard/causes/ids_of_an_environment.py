# names: self.module, net, gpus, device_ids
import os

import torch
from torch import nn

os.environ["GPUS"] = "1,0"


class Parallel:
    def __init__(self, net):
        gpus = [int(one) for one in os.environ["GPUS"].split(",")]
        self.module = nn.DataParallel(net.cuda(), device_ids=gpus)  # CAUSE
        # right: self.module = nn.DataParallel(net.cuda(), device_ids=sorted(gpus))

    def loss(self, x, y):
        return (self.module(x.cuda()) - y.cuda()).abs().mean()


Parallel(nn.Linear(3, 3)).loss(torch.ones(4, 3), torch.ones(4, 3))
