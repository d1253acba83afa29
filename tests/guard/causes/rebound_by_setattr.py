# names: self.h0, self.c0, torch.zeros
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.h0 = self.c0 = None

    def reset(self, size):
        for name in ("h0", "c0"):
            setattr(self, name, torch.zeros(size, 4))  # CAUSE
            # right: setattr(self, name, torch.zeros(size, 4, device=self.cell.weight_ih.device))

    def forward(self, x):
        self.h0, self.c0 = self.cell(x, (self.h0, self.c0))
        return self.h0


net = Net().cuda()
net.reset(2)
net(torch.ones(2, 3).cuda())
