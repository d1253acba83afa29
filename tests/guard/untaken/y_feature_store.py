import sys

import torch
from torch import nn


class Store:
    def __init__(self):
        self.table = {}

    def put(self, name, value):
        self.table[name] = value

    def get(self, name):
        return self.table[name]


def distil(student, store, x, use_teacher):
    out = student(x)
    if use_teacher:
        soft = store.get("teacher")
        return (out - soft).abs().mean()  # bug
    return out.mean() + store.get("teacher").mean().item()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    store = Store()
    store.put("teacher", torch.rand(4, 2))
    student = nn.Linear(3, 2).to(device)
    for _ in range(2):
        distil(student, store, torch.rand(4, 3, device=device), "--take" in sys.argv).backward()


main()
