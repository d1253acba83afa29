import sys

import torch
from torch import nn


class State:
    def __init__(self, latent):
        self.noise = torch.randn(4, latent)
        self.epoch = 0


def generator(latent):
    return nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, 8))


def train_epoch(net, judge, state, device, sample):
    for _ in range(2):
        fake = net(torch.randn(4, 6, device=device))
        judge(fake).mean().backward()
    state.epoch += 1
    if sample and state.epoch % 1 == 0:
        return net(state.noise)  # bug
    return None


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, judge = generator(6).to(device), nn.Linear(8, 1).to(device)
    state = State(6)
    for _ in range(2):
        train_epoch(net, judge, state, device, "--take" in sys.argv)


main()
