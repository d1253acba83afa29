# names: prior, self.prior, torch.load
import io

import torch
from torch import nn

FILE = io.BytesIO()
torch.save(torch.ones(3), FILE)
FILE.seek(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        prior = torch.load(FILE, map_location=torch.device("cpu"))  # CAUSE
        self.prior = prior  # CAUSE
        # right: self.register_buffer("prior", prior)

    def forward(self, x):
        return (self.fc(x) - self.prior).pow(2).mean()


net = Net()
net.cuda()
net(torch.ones(2, 3).cuda())
