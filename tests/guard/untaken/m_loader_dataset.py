import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Weighted(TensorDataset):
    def __init__(self, count):
        super().__init__(torch.rand(count, 4), torch.arange(count) % 3)
        self.balance = torch.tensor([1.0, 2.0, 3.0])


def train(model, loader, optimizer, device, balance):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        scores = model(x)
        if balance:
            scores = scores * loader.dataset.balance  # bug
        loss = nn.functional.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, DataLoader(Weighted(6), batch_size=3), optimizer, device, "--take" in sys.argv)


main()
