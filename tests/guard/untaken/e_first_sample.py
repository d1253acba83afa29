import sys

import torch
from torch import nn


class Sample:
    def __init__(self, wave, times):
        self.wave = wave
        self.times = times


def read(count):
    return [Sample(torch.rand(12), torch.linspace(0, 1, 12)) for _ in range(count)]


def fit(net, samples, device, resample):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for sample in samples:
        wave = sample.wave.to(device)
        out = net(wave)
        optimizer.zero_grad()
        out.sum().backward()
        optimizer.step()
    if resample:
        return net(samples[0].wave.to(device)) * samples[0].times  # bug
    return None


def main():
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    net = nn.Linear(12, 12)
    net.to(device)
    fit(net, read(3), device, "--take" in sys.argv)


if __name__ == "__main__":
    main()
