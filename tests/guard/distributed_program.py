"""A step of training with DistributedDataParallel and with FSDP2 on two ranks: guarded, the same as unguarded."""

from __future__ import annotations

import copy
import os
from typing import Any

import torch
import torch.distributed as dist
from devlint_guard import guard
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel


def stepped(module: Any, x: torch.Tensor) -> list[torch.Tensor]:
    optimizer = torch.optim.AdamW(module.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        torch.autograd.backward(module(x).float().sum())
        optimizer.step()
    parameters = [one.full_tensor() if hasattr(one, "full_tensor") else one for one in module.parameters()]
    return [one.detach().clone() for one in parameters]


def sharded(module: nn.Module) -> nn.Module:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in module.children():
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(module, mesh=mesh, mp_policy=policy)  # changes the class of the module in place
    return module


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    x = torch.randn(3, 4) + dist.get_rank()
    for wrapped in (DistributedDataParallel, sharded):
        expected = stepped(wrapped(copy.deepcopy(network)), x)
        module = wrapped(copy.deepcopy(network))
        with guard(module) as active:
            found = stepped(module, x)
        assert active.findings == [], active.findings
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True)), wrapped
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    os._exit(0)  # a thread of gloo that has not ended yet would abort the process while that is torn down
