# names: self.model, device_ids, gpus
import torch
from torch import nn


class Trainer:
    def __init__(self, net, gpus):
        self.device = torch.device("cuda:0")
        self.model = net.to(self.device)
        if torch.cuda.device_count() > 1:
            self.model = nn.DataParallel(self.model, device_ids=gpus)  # CAUSE
            # right: self.model = nn.DataParallel(self.model, device_ids=[0, 1])

    def step(self, x, y):
        x, y = x.to(self.device), y.to(self.device)
        return nn.functional.mse_loss(self.model(x), y)


trainer = Trainer(nn.Linear(3, 3), [1, 0])  # CAUSE
trainer.step(torch.ones(4, 3), torch.ones(4, 3))
