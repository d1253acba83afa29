# names: self.mean, mean, torch.load
import io

import torch


class Whiten:
    def __init__(self, file, device):
        self.device = device
        state = torch.load(file, map_location="cpu")  # CAUSE
        self.mean = state["mean"]  # CAUSE
        # right: self.mean = state["mean"].to(device)

    def __call__(self, x):
        return x.to(self.device) - self.mean


file = io.BytesIO()
torch.save({"mean": torch.ones(3)}, file)
file.seek(0)
whiten = Whiten(file, "cuda:0")
whiten(torch.ones(2, 3))
