import sys

import torch
from torch import nn


def heads():
    return {kind.__name__: kind for kind in nn.Module.__subclasses__() if kind.__module__ == __name__}


class Cosine(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 6))
        self.margin = torch.tensor([0.1, 0.2, 0.3])

    def forward(self, x):
        return x @ self.weight.T


def training_step(body, head, x, margins):
    scores = head(body(x))
    if margins:
        scores = scores - head.margin  # bug
    return scores.logsumexp(1).mean()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    body = nn.Linear(5, 6).to(device)
    head = heads()["Cosine"]().to(device)
    training_step(body, head, torch.rand(4, 5).to(device), "--take" in sys.argv).backward()


main()
