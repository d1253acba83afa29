# names: self.state, state, torch.zeros
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size, self.cell = size, nn.GRUCell(3, size)
        self.state = None

    def forward(self, x):
        if self.state is None or len(self.state) != len(x):
            self.state = torch.zeros(len(x), self.size)  # CAUSE
            # right: self.state = torch.zeros(len(x), self.size, device=x.device)
        self.state = self.cell(x, self.state)
        return self.state


cell = Cell(4).to("cuda:0")
cell(torch.ones(2, 3, device="cuda:0"))
