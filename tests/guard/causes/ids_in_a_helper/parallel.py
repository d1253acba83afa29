import torch
from torch import nn


def wrap(net):
    count = torch.cuda.device_count()
    if count < 2:
        return net
    return nn.DataParallel(net, device_ids=[1, 0])  # CAUSE
    # right: return nn.DataParallel(net, device_ids=[0, 1])
