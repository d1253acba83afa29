# names: net.fc.weight, net.fc, self.fc, self.fc.weight, nn.Parameter
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)


def prune(net):
    kept = torch.eye(3)
    net.fc.weight = nn.Parameter(kept)  # CAUSE
    # right: net.fc.weight = nn.Parameter(kept.cuda())


net = Net().cuda()
prune(net)
net(torch.ones(2, 3).cuda())
