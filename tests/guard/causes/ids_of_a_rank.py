# names: net, model, device_ids
import os

import torch
from torch import distributed, nn

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", LOCAL_RANK="1")
distributed.init_process_group(backend="nccl", rank=0, world_size=1)


def train(rank):
    device = torch.device("cuda:0")
    net = nn.Linear(3, 3).to(device)
    net = nn.parallel.DistributedDataParallel(net, device_ids=[1])  # CAUSE
    # right: net = nn.parallel.DistributedDataParallel(net, device_ids=[0])
    x = torch.ones(4, 3, device=device)
    return (net(x) - x).sum()


train(int(os.environ["LOCAL_RANK"]))
distributed.destroy_process_group()
