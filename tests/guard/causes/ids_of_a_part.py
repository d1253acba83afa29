# names: self.backbone, backbone, device_ids
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.DataParallel(nn.Linear(3, 4), device_ids=[1, 0])  # CAUSE
        # right: self.backbone = nn.DataParallel(nn.Linear(3, 4), device_ids=[0, 1])
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


net = Net().to("cuda:0")
net(torch.ones(4, 3, device="cuda:0"))
