import sys

import torch
from torch import nn


class Meter:
    def __init__(self, classes):
        self.counts = torch.zeros(classes, classes)
        self.seen = 0

    def update(self, scores):
        self.seen += len(scores)


def validate(model, batches, meter, normalise):
    totals = None
    for batch in batches:
        scores = model(batch).softmax(1)
        meter.update(scores)
        totals = scores.T @ scores
    if normalise:
        totals = totals / (meter.counts + 1)  # bug
    return totals


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(5, 3).to(device)
    batches = [torch.rand(4, 5, device=device) for _ in range(2)]
    validate(model, batches, Meter(3), "--take" in sys.argv)


main()
