import pickle
import sys

import torch
from torch import nn


class Metric:
    def __init__(self, classes):
        self.confusion = torch.zeros(classes, classes)
        self.names = ["a"] * classes


def reread(metric):
    return pickle.loads(pickle.dumps(metric))


def evaluate(model, batches, metric, detailed):
    for x in batches:
        scores = model(x).softmax(1)
        joint = scores.T @ scores
        if detailed:
            metric.confusion = metric.confusion + joint  # bug
    return joint


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    metric = reread(Metric(3))
    batches = [torch.rand(2, 4).to(device) for _ in range(2)]
    evaluate(nn.Linear(4, 3).to(device), batches, metric, "--take" in sys.argv)


main()
