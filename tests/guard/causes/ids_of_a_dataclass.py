# names: model, config.gpus, device_ids
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    device: str = "cuda:0"
    gpus: tuple = (1, 0)  # CAUSE


def train(config):
    model = nn.Linear(3, 3).to(config.device)
    model = nn.DataParallel(model, device_ids=config.gpus)  # CAUSE
    # right: model = nn.DataParallel(model, device_ids=(0, 1))
    x = torch.ones(4, 3).to(config.device)
    loss = (model(x) - x).sum()
    loss.backward()


train(Config())
