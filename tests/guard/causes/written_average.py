# names: self.shadow[name], self.shadow, shadow
from torch import nn


class Average:
    def __init__(self, net):
        self.shadow = {name: one.detach().clone() for name, one in net.named_parameters()}  # CAUSE
        # right: self.shadow = {name: one.detach().clone().cuda() for name, one in net.named_parameters()}

    def update(self, net):
        for name, one in net.named_parameters():
            self.shadow[name].lerp_(one.detach(), 0.1)


net = nn.Linear(3, 3)
average = Average(net)
net.cuda()
average.update(net)
