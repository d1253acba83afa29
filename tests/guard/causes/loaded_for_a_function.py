# names: mean, stats["mean"], stats, torch.load
import io

import torch
from torch import nn

FILE = io.BytesIO()
torch.save({"mean": torch.ones(3), "std": torch.ones(3)}, FILE)
FILE.seek(0)


def evaluate(net, device):
    stats = torch.load(FILE, map_location="cpu")  # CAUSE
    mean = stats["mean"]  # CAUSE
    # right: mean = stats["mean"].to(device)
    for x in [torch.ones(2, 3)]:
        net(x.to(device) - mean)


evaluate(nn.Linear(3, 3).cuda(), torch.device("cuda:0"))
