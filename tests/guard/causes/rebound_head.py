# names: net.head, self.head, nn.Linear
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 10)

    def forward(self, x):
        return self.head(self.body(x))


device = torch.device("cuda")
net = Net().to(device)
net.head = nn.Linear(4, 2)  # CAUSE
# right: net.head = nn.Linear(4, 2).to(device)
net(torch.ones(2, 3, device=device))
