# names: net.weight, net, weight
import torch
from torch import nn


def reinitialise(net):
    net.weight.data = torch.randn(3, 3)  # CAUSE
    # right: net.weight.data = torch.randn(3, 3).cuda()


net = nn.Linear(3, 3).cuda()
reinitialise(net)
net(torch.ones(2, 3).cuda())
