# names: self.centers, torch.randn
import torch
from torch import nn


class Centers(nn.Module):
    def __init__(self, classes, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.centers = torch.randn(classes, size)  # CAUSE
        # right: self.register_buffer("centers", torch.randn(classes, size))

    def update(self, features, labels):
        for label in range(len(self.centers)):
            chosen = features[labels == label]
            if len(chosen):
                self.centers[label].lerp_(chosen.mean(0), 0.5)

    def forward(self, x, labels):
        features = self.fc(x)
        self.update(features.detach(), labels)
        return (features - self.centers[labels]).pow(2).sum()


centers = Centers(2, 3).cuda()
centers(torch.ones(4, 3).cuda(), torch.tensor([0, 1, 1, 0]).cuda())
