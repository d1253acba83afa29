# names: net, parallel, device_ids
from functools import partial

import torch
from torch import nn

parallel = partial(nn.DataParallel, device_ids=[1, 0])  # CAUSE
# right: parallel = partial(nn.DataParallel, device_ids=[0, 1])


def build():
    net = nn.Linear(3, 3).cuda()
    return parallel(net)  # CAUSE


net = build()
x = torch.ones(4, 3).cuda()
(net(x) - x).sum().backward()
