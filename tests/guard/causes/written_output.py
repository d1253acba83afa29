# names: self.out, torch.empty
import torch


class Buffer:
    def __init__(self, size):
        self.out = torch.empty(size)  # CAUSE
        # right: self.out = torch.empty(size, device="cuda:0")

    def add(self, a, b):
        return torch.add(a, b, out=self.out)


buffer = Buffer(3)
buffer.add(torch.ones(3).cuda(), torch.ones(3).cuda()) + torch.ones(3).cuda()
