# names: self.memory, torch.zeros
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, count, size):
        super().__init__()
        self.memory = torch.zeros(count, size)  # CAUSE
        # right: self.register_buffer("memory", torch.zeros(count, size))

    def forward(self, index, features):
        self.memory.index_add_(0, index, features)
        return self.memory[index]


device = torch.device("cuda:0")
memory = Memory(8, 3).to(device)
memory(torch.tensor([1, 2], device=device), torch.ones(2, 3, device=device))
