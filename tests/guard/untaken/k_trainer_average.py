import sys

import torch
from torch import nn


class Average:
    def __init__(self, model):
        self.shadow = [torch.zeros(p.shape) for p in model.parameters()]
        self.decay = torch.tensor([0.9])


class Trainer:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.average = Average(model)
        self.device = device
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x.to(self.device)).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def smooth(self, loss, use):
        if use:
            return loss.unsqueeze(0) * self.average.decay  # bug
        return loss


def main():
    trainer = Trainer(nn.Linear(3, 1), torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    for _ in range(3):
        loss = trainer.step(torch.rand(2, 3))
        trainer.smooth(loss, "--take" in sys.argv)


main()
