"""Tensors that are sent to other processes: their memory is shared as that of the CPU, and their labels go along."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements, around
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA, XPU
from devlint_guard.rehearsal.labels import CPU, label, put, put_storage, storage_label
from devlint_guard.rehearsal.machine import MACHINE, resolve

_multiprocessing: Any = torch.multiprocessing


def install(replaced: Replacements) -> None:
    """Replace how tensors and storages are pickled between processes."""
    import torch.multiprocessing.reductions as reductions

    pickler: Any = ForkingPickler
    own = {reductions.reduce_tensor: _reduce_tensor, reductions.reduce_storage: _reduce_storage}
    reducers = {
        kind: around(reducer, own[reducer]) if reducer in own else reducer
        for kind, reducer in pickler._extra_reducers.items()
    }
    replaced.put(pickler, "_extra_reducers", reducers)
    storage: Any = torch.UntypedStorage
    replaced.put(storage, "_new_shared", staticmethod(around(storage._new_shared, _new_shared)))


def _new_shared(make: Callable[..., Any], size: int, *, device: Any = "cpu") -> Any:
    """Make the memory for a batch of a worker (torch/utils/data/_utils/collate.py)."""
    where = torch.device(device)
    if where.type != MACHINE.name:
        return make(size, device=where)
    made = make(size, device="cpu")
    put_storage(made, resolve(where))
    return made


def _reduce_tensor(reduce: Callable[..., Any], tensor: Tensor) -> Any:
    device = label(tensor)
    if device.type != MACHINE.name:
        return reduce(tensor)
    if MACHINE.kind is not CUDA:  # torch/csrc/StorageSharing.cpp
        has_files = MACHINE.kind is XPU and _multiprocessing.get_sharing_strategy() == "file_descriptor"
        words.refuse(f"_share_{'fd' if has_files else 'filename'}_: only available on CPU")
    with _on_cpu(torch._C.TensorBase.untyped_storage(tensor)):
        return _rebuild, (str(device), *reduce(tensor))


def _reduce_storage(reduce: Callable[..., Any], storage: Any) -> Any:
    with _on_cpu(storage):
        return reduce(storage)


@contextlib.contextmanager
def _on_cpu(storage: Any) -> Iterator[None]:
    """While the body runs, a storage is on the CPU."""
    device = storage_label(storage)
    put_storage(storage, CPU)
    try:
        yield
    finally:
        put_storage(storage, device)


def _rebuild(device: str, function: Callable[..., Tensor], arguments: tuple[Any, ...]) -> Tensor:
    """Make a tensor in the process that receives it; this starts CUDA there, as it does on a machine with devices."""
    return put(function(*arguments), resolve(torch.device(device)))
