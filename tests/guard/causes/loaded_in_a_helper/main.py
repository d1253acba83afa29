# names: STATS["mean"], STATS, mean, torch.load
import torch
from files import load_stats, save_stats
from torch import nn

device = torch.device("cuda:0")
save_stats("stats.pt")
STATS = load_stats("stats.pt")


def normalise(x):
    return (x - STATS["mean"]) / STATS["std"]


net = nn.Linear(3, 3).to(device)
net(normalise(torch.ones(2, 3, device=device)))
