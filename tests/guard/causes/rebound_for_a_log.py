# names: self.total, total
import torch


class Meter:
    def __init__(self, device):
        self.total = torch.zeros(3, device=device)

    def add(self, value):
        self.total = self.total + value

    def report(self):
        self.total = self.total.cpu()  # CAUSE
        # right: self.total = self.total.clone()
        return self.total.tolist()


meter = Meter("cuda:0")
for step in range(3):
    meter.add(torch.ones(3, device="cuda:0"))
    if step == 1:
        meter.report()
