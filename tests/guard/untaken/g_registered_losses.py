import sys

import torch
from torch import nn

CLASSES = 4
REGISTRY = {}


def register(name):
    def add(function):
        REGISTRY[name] = function
        return function

    return add


@register("frequency")
def frequency_weights(counts):
    return counts.sum() / counts


def build(name, counts):
    return REGISTRY[name](counts)


def train(model, batch, labels, weights, balanced):
    scores = model(batch)
    if balanced:
        return (nn.functional.log_softmax(scores, 1) * weights).sum()  # bug
    return nn.functional.cross_entropy(scores, labels)


def main():
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(6, CLASSES).to(where)
    weights = build("frequency", torch.ones(CLASSES))
    for _ in range(2):
        batch, labels = torch.rand(5, 6).to(where), torch.zeros(5, dtype=torch.long).to(where)
        train(model, batch, labels, weights, "--take" in sys.argv).backward()


main()
