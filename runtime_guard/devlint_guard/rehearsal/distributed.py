"""Process groups: gloo carries what NCCL would carry between GPUs."""

from __future__ import annotations

import functools
from typing import Any

import torch

from devlint_guard.rehearsal.machine import count
from devlint_guard.rehearsal.replacements import Replacements
from devlint_guard.rehearsal.unjudged import UNJUDGED


def install(replaced: Replacements) -> None:
    """Replace the start of process groups, where this build of torch has them."""
    import torch.distributed as distributed

    if not distributed.is_available():
        return
    module: Any = distributed.distributed_c10d
    original, original_backend = module.init_process_group, module.get_backend
    asked: list[str] = []

    @functools.wraps(original)
    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> None:
        name = "" if backend is None else str(backend).lower()
        if "nccl" in name or not name:
            if name == "nccl" and not count():
                raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
            UNJUDGED.note("gloo stands for NCCL: whether the tensors of its collectives are on GPUs is not judged")
            asked.append(name or "nccl")
            backend = "gloo"
        kwargs.pop("device_id", None)
        original(backend, *args, **kwargs)

    @functools.wraps(original_backend)
    def get_backend(group: Any = None) -> Any:
        found = original_backend(group)
        return distributed.Backend(asked[-1]) if asked and asked[-1] == "nccl" and found == "gloo" else found

    for owner in (distributed, module):
        replaced.put(owner, "init_process_group", init_process_group)
        replaced.put(owner, "get_backend", get_backend)
        replaced.put(owner, "is_nccl_available", lambda: True)
    replaced.put(torch.cuda.nccl, "version", lambda: (2, 27, 5))
