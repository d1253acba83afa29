import sys

import torch
from torch import nn


class Options(dict):
    __getattr__ = dict.__getitem__


def parse(arguments):
    options = Options(rate=0.1, debias="--take" in arguments)
    options["offsets"] = torch.zeros(4)
    return options


def compute(model, x, options):
    out = model(x)
    if options.debias:
        out = out - options.offsets  # bug
    return out.mean()


class Runner:
    def __init__(self, options):
        self.options = options
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.Linear(2, 4).to(self.device)

    def run(self):
        for _ in range(2):
            compute(self.model, torch.rand(3, 2).to(self.device), self.options).backward()


Runner(parse(sys.argv)).run()
