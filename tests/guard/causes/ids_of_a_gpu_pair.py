# names: encoder, net, device_ids
import torch
from torch import nn


def build(ids):
    encoder = nn.Linear(3, 3)
    encoder.cuda()
    return nn.DataParallel(encoder, ids)


ids = list(range(torch.cuda.device_count()))
ids.reverse()
net = build(ids)  # CAUSE
# right: net = build(ids[::-1])
net(torch.ones(4, 3).cuda()) + torch.ones(4, 3).cuda()
