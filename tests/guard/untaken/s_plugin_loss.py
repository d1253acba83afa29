import sys

import torch
from torch import nn


class Focal:
    def __init__(self, classes):
        self.alpha = torch.full((classes,), 0.25)
        self.gamma = 2.0

    def __call__(self, scores, labels):
        return nn.functional.cross_entropy(scores, labels)


def create(name, **options):
    return getattr(sys.modules[__name__], name)(**options)


def step(model, criterion, inputs, labels, report):
    scores = model(inputs)
    loss = criterion(scores, labels)
    if report:
        loss = loss + (scores.softmax(1) * criterion.alpha).sum()  # bug
    return loss


def main():
    place = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Linear(7, 3).to(place)
    criterion = create("Focal", classes=3)
    for _ in range(2):
        inputs, labels = torch.rand(5, 7, device=place), torch.zeros(5, dtype=torch.long, device=place)
        step(model, criterion, inputs, labels, "--take" in sys.argv).backward()


main()
