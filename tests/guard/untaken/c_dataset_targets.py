import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, count):
        self.data = torch.rand(count, 8)
        self.targets = torch.arange(count) % 4

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index], self.targets[index]


def agreement(model, dataset, device, check_all):
    model.eval()
    with torch.no_grad():
        logits = model(dataset.data.to(device))
    guesses = logits.argmax(1)
    if check_all:
        return (guesses == dataset.targets).float().mean()  # bug
    return guesses.float().mean()


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
dataset = Digits(16)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).to(device)
optimizer = torch.optim.Adam(model.parameters())
for inputs, labels in DataLoader(dataset, batch_size=8):
    loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
agreement(model, dataset, device, "--take" in sys.argv)
