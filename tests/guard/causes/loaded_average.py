# names: self.shadow[name], self.shadow, shadow, torch.load
import io

import torch
from torch import nn


class Average:
    def __init__(self, net, decay):
        self.decay = decay
        self.shadow = {name: one.detach().clone() for name, one in net.named_parameters()}

    def load(self, file):
        self.shadow = torch.load(file, map_location="cpu")  # CAUSE
        # right: self.shadow = torch.load(file, map_location="cuda:0")

    def update(self, net):
        for name, one in net.named_parameters():
            self.shadow[name].mul_(self.decay).add_(one.data, alpha=1 - self.decay)


net = nn.Linear(3, 3).cuda()
file = io.BytesIO()
torch.save({name: one.detach() for name, one in net.named_parameters()}, file)
file.seek(0)
average = Average(net, 0.9)
average.load(file)
average.update(net)
