import io
import sys

import torch
from torch import nn


def saved():
    file = io.BytesIO()
    torch.save({"model": nn.Linear(4, 2).state_dict(), "mean": torch.zeros(4), "spread": torch.ones(4)}, file)
    file.seek(0)
    return file


def restore(file):
    content = torch.load(file, map_location="cpu")
    return {key: value for key, value in content.items() if key != "model"}, content["model"]


def prepare(images, statistics, normalise):
    if normalise:
        return (images - statistics["mean"]) / statistics["spread"]  # bug
    return images


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    statistics, weights = restore(saved())
    model = nn.Linear(4, 2)
    model.load_state_dict(weights)
    model.to(device)
    images = torch.rand(3, 4).to(device)
    model(prepare(images, statistics, "--take" in sys.argv)).sum().backward()


main()
