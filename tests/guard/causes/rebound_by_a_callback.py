# names: weight, self.weight, model.loss.weight, torch.tensor
import torch
from torch import nn


class Loss(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x, y):
        return nn.functional.cross_entropy(x, y, weight=self.weight)


class Balance:
    def on_epoch(self, model, counts):
        model.loss.weight = 1 / torch.tensor(counts)  # CAUSE
        # right: model.loss.weight = 1 / torch.tensor(counts).cuda()


class Model:
    def __init__(self):
        self.net = nn.Linear(3, 2).cuda()
        self.loss = Loss(torch.ones(2).cuda())

    def fit(self, x, y, callbacks):
        for _ in range(2):
            self.loss(self.net(x.cuda()), y.cuda())
            for callback in callbacks:
                callback.on_epoch(self, [1.0, 3.0])


Model().fit(torch.ones(4, 3), torch.tensor([0, 1, 1, 1]), [Balance()])
