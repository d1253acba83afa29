# names: stats["mean"], mean, stats, torch.load
import io

import torch
from torch import nn


def make_normalise(file):
    stats = torch.load(file, map_location="cpu")  # CAUSE
    # right: stats = torch.load(file, map_location="cuda:0")

    def normalise(x):
        return (x - stats["mean"]) / stats["std"]

    return normalise


file = io.BytesIO()
torch.save({"mean": torch.zeros(3), "std": torch.ones(3)}, file)
file.seek(0)
normalise = make_normalise(file)
nn.Linear(3, 3).cuda()(normalise(torch.ones(2, 3).cuda()))
