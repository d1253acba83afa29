"""Tensors that are sent to other processes: their memory is shared as that of the CPU, and their labels go along."""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA, XPU
from devlint_guard.rehearsal.labels import CPU, label, put, put_storage, storage_label
from devlint_guard.rehearsal.machine import MACHINE, resolve

_multiprocessing: Any = torch.multiprocessing


def install(replaced: Replacements) -> None:
    """Replace how tensors and storages are pickled between processes."""
    import torch.multiprocessing.reductions as reductions

    pickler: Any = ForkingPickler
    reducers = dict(pickler._extra_reducers)
    for kind, reducer in reducers.items():
        if reducer is reductions.reduce_tensor:
            reducers[kind] = _reduce_tensor(reducer)
        elif reducer is reductions.reduce_storage:
            reducers[kind] = _as_on_cpu(reducer, lambda storage: storage)
    replaced.put(pickler, "_extra_reducers", reducers)
    storage: Any = torch.UntypedStorage
    new_shared = storage._new_shared

    def shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
        """Make the memory for a batch of a worker (torch/utils/data/_utils/collate.py)."""
        where = torch.device(device)
        made = new_shared(size, device="cpu" if where.type == MACHINE.name else where)
        if where.type == MACHINE.name:
            put_storage(made, resolve(where))
        return made

    replaced.put(storage, "_new_shared", classmethod(shared))


def _reduce_tensor(original: Callable[..., Any]) -> Callable[..., Any]:
    reduce = _as_on_cpu(original, lambda tensor: torch._C.TensorBase.untyped_storage(tensor))

    @functools.wraps(original)
    def reduce_tensor(tensor: Tensor) -> Any:
        device = label(tensor)
        if device.type != MACHINE.name:
            return original(tensor)
        if MACHINE.kind is not CUDA:  # torch/csrc/StorageSharing.cpp
            has_files = MACHINE.kind is XPU and _multiprocessing.get_sharing_strategy() == "file_descriptor"
            words.refuse(f"_share_{'fd' if has_files else 'filename'}_: only available on CPU")
        return _rebuild, (str(device), *reduce(tensor))

    return reduce_tensor


def _as_on_cpu(reducer: Callable[..., Any], storage_of: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a reducer that finds the memory of its argument on the CPU."""

    @functools.wraps(reducer)
    def reduced(value: Any) -> Any:
        storage = storage_of(value)
        device = storage_label(storage)
        put_storage(storage, CPU)
        try:
            return reducer(value)
        finally:
            put_storage(storage, device)

    return reduced


def _rebuild(device: str, function: Callable[..., Tensor], arguments: tuple[Any, ...]) -> Tensor:
    """Make a tensor in the process that receives it; this starts CUDA there, as it does on a machine with devices."""
    return put(function(*arguments), resolve(torch.device(device)))
