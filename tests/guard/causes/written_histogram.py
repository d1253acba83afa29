# names: counts[label], self.counts, counts, torch.zeros
import torch


class Counter:
    def __init__(self, labels, bins):
        self.counts = {label: torch.zeros(bins) for label in labels}  # CAUSE
        # right: self.counts = {label: torch.zeros(bins).cuda() for label in labels}

    def add(self, label, value):
        self.counts[label] += value.softmax(0)


counter = Counter(["a", "b"], 3)
counter.add("b", torch.ones(3).cuda())
