# names: self.variance, std, distribution, torch.full
import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.mean = nn.Linear(3, 2)
        self.variance = torch.full((2,), 0.6, device=device)

    def set_variance(self, value):
        self.variance = torch.full((2,), value * value)  # CAUSE
        # right: self.variance = torch.full((2,), value * value, device="cuda:0")

    def act(self, x):
        std = self.variance.sqrt()
        distribution = Normal(self.mean(x), std)
        return distribution.sample()


policy = Policy("cuda:0").cuda()
policy.act(torch.ones(4, 3).cuda())
policy.set_variance(0.5)
policy.act(torch.ones(4, 3).cuda())
