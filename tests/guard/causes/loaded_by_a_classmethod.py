# names: stats.mean, self.mean, mean, torch.load
import io

import torch


class Stats:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    @classmethod
    def read(cls, file):
        state = torch.load(file, map_location="cpu")  # CAUSE
        # right: state = torch.load(file, map_location="cuda:0")
        return cls(state["mean"], state["std"])

    def __call__(self, x):
        return (x - self.mean) / self.std


file = io.BytesIO()
torch.save({"mean": torch.zeros(3), "std": torch.ones(3)}, file)
file.seek(0)
stats = Stats.read(file)
stats(torch.ones(2, 3, device="cuda"))
