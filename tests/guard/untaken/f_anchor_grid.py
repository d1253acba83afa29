import sys

import torch
from torch import nn


class Anchors:
    def __init__(self, size):
        ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.grid = torch.stack([xs, ys], -1).float()
        self.size = size


class Head(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.offsets = nn.Conv2d(channels, 2, 1)

    def forward(self, features):
        return self.offsets(features).permute(0, 2, 3, 1)


class Detector:
    def __init__(self, device):
        self.head = Head(3).to(device)
        self.anchors = Anchors(4)
        self.device = device

    def step(self, images):
        return self.head(images.to(self.device)).abs().mean()

    def predict(self, images, decode):
        offsets = self.head(images.to(self.device))
        if not decode:
            return offsets
        return offsets + self.anchors.grid  # bug


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
detector = Detector(device)
images = torch.rand(2, 3, 4, 4)
detector.step(images).backward()
detector.predict(images, decode=False)
if "--take" in sys.argv:
    detector.predict(images, decode=True)
