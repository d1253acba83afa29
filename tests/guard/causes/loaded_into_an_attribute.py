# names: self.anchors, net.anchors, anchors, torch.load
import io

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.anchors = None

    def forward(self, x):
        return self.fc(x) * self.anchors


def restore(net, file):
    state = torch.load(file)  # CAUSE
    net.anchors = state["anchors"]  # CAUSE
    # right: net.anchors = state["anchors"].cuda()


file = io.BytesIO()
torch.save({"anchors": torch.ones(3)}, file)
file.seek(0)
net = Net().cuda()
restore(net, file)
net(torch.ones(2, 3).cuda())
