# names: self.center, center, torch.load
import io

import torch


class Scorer:
    def __init__(self, center, device):
        self.center = center  # CAUSE
        # right: self.center = None if center is None else center.to(device)
        self.device = device

    def fit(self, x):
        self.center = x.to(self.device).mean(0)

    def score(self, x):
        return ((x.to(self.device) - self.center) ** 2).sum(1)


class Detector:
    def __init__(self):
        self.center, self.scorer = None, None

    def fit(self, x):
        self.scorer = Scorer(self.center, "cuda:0")
        self.scorer.fit(x)
        self.center = self.scorer.center.cpu()

    def load(self, file):
        state = torch.load(file, map_location="cpu")  # CAUSE
        self.center = state["center"]  # CAUSE

    def test(self, x):
        if self.scorer is None:
            self.scorer = Scorer(self.center, "cuda:0")
        return self.scorer.score(x)


first = Detector()
first.fit(torch.ones(4, 3))
file = io.BytesIO()
torch.save({"center": first.center}, file)
file.seek(0)
second = Detector()
second.load(file)
second.test(torch.ones(4, 3))
