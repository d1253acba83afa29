"""Process groups of one process: the ranks have no peers, and torch.multiprocessing.spawn runs them in turn.

NCCL takes CUDA tensors only and gloo takes both, which is the part of a process group that devices depend on.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import torch

from tests.judge.pretended.machine import set_current_device, start_driver


def install_distributed() -> None:
    """Replaces the start of process groups, of DistributedDataParallel and of spawned processes."""
    import torch.distributed as dist  # costs time at import, and is not part of every build

    if not dist.is_available():
        return
    _replace_process_groups(dist)
    _replace_data_parallel()
    _replace_spawn(dist)


def _replace_process_groups(dist: Any) -> None:
    c10d = dist.distributed_c10d
    original_init, original_get_backend = c10d.init_process_group, c10d.get_backend
    initialized_as = "nccl"

    def init_process_group(
        backend: Any = None,
        init_method: Any = None,
        timeout: Any = None,
        world_size: int = -1,
        rank: int = -1,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        from torch.testing._internal.distributed.fake_pg import FakeStore  # registers the backend named fake

        nonlocal initialized_as
        # distributed_c10d.BackendConfig: a group without a named backend has that of the accelerator alone
        name = str(backend).lower() if backend is not None else "nccl" if torch.cuda.is_available() else "gloo"
        substitute = _peerless(name)
        if substitute is None:
            original_init(backend, init_method, timeout, world_size, rank, *args, **kwargs)
            return
        if "nccl" in name and start_driver() == 0:
            raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
        initialized_as = name
        original_init(
            backend=substitute,
            store=FakeStore(),
            rank=rank if rank >= 0 else int(os.environ.get("RANK", 0)),
            world_size=world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", 1)),
        )

    def get_backend(group: Any = None) -> Any:
        original_get_backend(group)
        return dist.Backend(initialized_as)

    torch.cuda.nccl.version = lambda: (2, 27, 5)
    for module in (dist, c10d):
        module.init_process_group = init_process_group
        module.get_backend = get_backend


def _peerless(backend: str) -> str | None:
    """The backend without peers that takes tensors of the same device types; None for an unknown backend."""
    if ":" in backend:
        return ",".join(f"{part.partition(':')[0]}:fake" for part in backend.split(","))
    device_types = {"nccl": "cuda:fake"} | dict.fromkeys(("gloo", "mpi", "fake"), "cpu:fake,cuda:fake")
    return device_types.get(backend)


class _QuietLogger:
    """The reducer's logger without the statistics that need timers of real CUDA devices."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    def set_runtime_stats_and_log(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)


def _replace_data_parallel() -> None:
    data_parallel: Any = torch.nn.parallel.distributed.DistributedDataParallel
    original_init = data_parallel.__init__

    @functools.wraps(original_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        # all-reduce without peers yields no tensors: the reducer gets its own bucket back
        self.register_comm_hook(None, lambda state, bucket: _own_bucket(bucket))
        self.logger = _QuietLogger(self.logger)

    data_parallel.__init__ = init


def _own_bucket(bucket: Any) -> Any:
    future: Any = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def _replace_spawn(dist: Any) -> None:
    def spawn(
        fn: Any,
        args: Any = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
    ) -> None:
        for rank in range(nprocs):
            set_current_device(0)
            fn(rank, *args)
            if dist.is_initialized():
                dist.destroy_process_group()
        set_current_device(0)

    multiprocessing: Any = torch.multiprocessing
    multiprocessing.spawn = spawn
