# names: counts, torch.zeros
import torch


def count(index, size):
    counts = torch.zeros(size)  # CAUSE
    # right: counts = torch.zeros(size, device=index.device)
    counts.scatter_add_(0, index, torch.ones_like(index, dtype=torch.float))
    return counts / index.numel()


count(torch.tensor([0, 1, 1], device="cuda:0"), 3) * torch.ones(3, device="cuda:0")
