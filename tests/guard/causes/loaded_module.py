# names: net, torch.load
import io

import torch
from torch import nn


def evaluate(net, batches, device):
    return [net(x.to(device)) for x in batches]


file = io.BytesIO()
torch.save(nn.Linear(3, 3), file)
file.seek(0)
net = torch.load(file, map_location="cpu", weights_only=False)  # CAUSE
# right: net = torch.load(file, map_location="cuda:0", weights_only=False)
evaluate(net, [torch.ones(2, 3)], "cuda:0")
