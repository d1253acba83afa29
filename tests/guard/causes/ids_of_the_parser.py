# names: model, device_ids, args.gpus
import argparse

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 0])  # CAUSE
    args = parser.parse_args([])
    device = torch.device("cuda:0")
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(device)
    model = nn.DataParallel(model, device_ids=args.gpus)  # CAUSE
    # right: model = nn.DataParallel(model, device_ids=[0, 1])
    for x, y in [(torch.ones(4, 3), torch.ones(4, 3))]:
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()


main()
