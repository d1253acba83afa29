import sys

import torch
from torch import nn


class Batch:
    def __init__(self, source, target, weights):
        self.source, self.target, self.weights = source, target, weights


def batches(device):
    for seed in range(3):
        source = torch.full((4, 6), seed % 5).to(device)
        yield Batch(source, source % 3, torch.ones(4))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, source):
        return self.out(self.table(source))


def loss_of(model, batch, weighted):
    scores = model(batch.source)
    losses = nn.functional.cross_entropy(scores.flatten(0, 1), batch.target.flatten(), reduction="none")
    losses = losses.view(4, 6).mean(1)
    if weighted:
        losses = losses * batch.weights  # bug
    return losses.mean()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Tagger().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches(device):
        optimizer.zero_grad()
        loss_of(model, batch, "--take" in sys.argv).backward()
        optimizer.step()


main()
