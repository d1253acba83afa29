# names: state.mean, mean, torch.load
import io
from dataclasses import dataclass

import torch


@dataclass
class State:
    mean: torch.Tensor
    std: torch.Tensor


def read(file):
    return State(**torch.load(file, map_location="cpu"))  # CAUSE
    # right: return State(**torch.load(file, map_location="cuda:0"))


def main(file):
    state = read(file)
    x = torch.ones(2, 3).cuda()
    return (x - state.mean) / state.std


file = io.BytesIO()
torch.save({"mean": torch.zeros(3), "std": torch.ones(3)}, file)
file.seek(0)
main(file)
