# names: model.embed, self.embed, embed, nn.Embedding.from_pretrained
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(4, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.embed(x))


def use_vectors(model, vectors):
    model.embed = nn.Embedding.from_pretrained(vectors)  # CAUSE
    # right: model.embed = nn.Embedding.from_pretrained(vectors).cuda()


model = Model().cuda()
use_vectors(model, torch.ones(4, 3))
model(torch.tensor([0, 1]).cuda())
