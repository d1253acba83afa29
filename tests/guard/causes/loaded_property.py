# names: self.scale, self._state["scale"], self._state, torch.load
import io

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, file):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self._state = torch.load(file, map_location="cpu")  # CAUSE

    @property
    def scale(self):
        return self._state["scale"]  # CAUSE
        # right: return self._state["scale"].to(self.fc.weight.device)

    def forward(self, x):
        return self.fc(x) * self.scale


file = io.BytesIO()
torch.save({"scale": torch.ones(3)}, file)
file.seek(0)
Net(file).cuda()(torch.ones(2, 3).cuda())
