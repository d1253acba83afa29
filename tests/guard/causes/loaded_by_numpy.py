# names: self.vectors, vectors, torch.from_numpy
import io

import numpy
import torch


class Vectors:
    def __init__(self, file, device):
        self.device = device
        self.vectors = torch.from_numpy(numpy.load(file))  # CAUSE
        # right: self.vectors = torch.from_numpy(numpy.load(file)).to(device)

    def nearest(self, x):
        return (x @ self.vectors.T).argmax(1)


file = io.BytesIO()
numpy.save(file, numpy.ones((4, 3), dtype="float32"))
file.seek(0)
Vectors(file, "cuda:0").nearest(torch.ones(2, 3, device="cuda:0"))
