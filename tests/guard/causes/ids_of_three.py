# names: encoder, self.encoder, device_ids
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, ids):
        super().__init__()
        self.encoder = nn.DataParallel(nn.Linear(3, 4), device_ids=ids)  # CAUSE
        self.decoder = nn.DataParallel(nn.Linear(4, 3), device_ids=ids)

    def forward(self, x):
        return self.decoder(self.encoder(x))


net = Net(ids=(1, 0)).cuda()  # CAUSE
# right: net = Net(ids=(0, 1)).cuda()
x = torch.ones(4, 3).cuda()
(net(x) - x).sum().backward()
