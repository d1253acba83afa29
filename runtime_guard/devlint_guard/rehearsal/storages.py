"""Untyped storages: their devices, checkpoints, and the memory that processes share, to which labels go along."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements, around
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA, MPS, XPU
from devlint_guard.rehearsal.labels import CPU, label, put, put_storage, storage_label
from devlint_guard.rehearsal.machine import MACHINE, count, index_of, numbered, resolve, start

_torch: Any = torch


def install(replaced: Replacements) -> None:
    """Replace the methods of storages that tell of devices or cross them."""
    storage: Any = torch.UntypedStorage

    def on(self: Any, device: torch.device) -> Any:
        made = storage(self.nbytes())
        made.copy_(self)
        put_storage(made, device)
        return made

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        target = resolve(device)
        return self if storage_label(self) == target else on(self, target)

    def to_device(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(self, device=numbered(index_of(device)))

    replaced.add(storage, "device", property(storage_label))
    replaced.add(storage, f"is_{MACHINE.name}", property(lambda self: storage_label(self).type == MACHINE.name))
    replaced.add(storage, "get_device", lambda self: -1 if (at := storage_label(self)).index is None else at.index)
    replaced.add(storage, "to", to)
    replaced.add(storage, MACHINE.name, to_device)
    replaced.add(storage, "cpu", lambda self: self if storage_label(self) == CPU else on(self, CPU))
    replaced.add(storage, "clone", lambda self: on(self, storage_label(self)))
    # The registry that torch.serialization documents for backends.
    registry = torch.serialization._package_registry
    replaced.put(torch.serialization, "_package_registry", [(1, _tag, _restore), *registry])
    _install_sharing(replaced)


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)


def _tag(storage: Any) -> str | None:
    device = storage_label(_untyped(storage))
    return str(device) if device.type == MACHINE.name else None


def _restore(storage: Any, location: str) -> Any:
    """Follow torch/serialization.py, _validate_device."""
    if not location.startswith(MACHINE.name):
        return None
    if MACHINE.kind is MPS:
        start()
    key, module = MACHINE.kind.key, f"torch.{MACHINE.name}"
    if not count():
        raise RuntimeError(
            f"Attempting to deserialize object on a {key} device but {module}.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    index = torch.device(location).index
    index = index_of(None) if index is None else index
    if index >= count() and MACHINE.kind is not MPS:
        raise RuntimeError(
            f"Attempting to deserialize object on {key} device {index} but {module}.device_count() is {count()}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    put_storage(_untyped(storage), resolve(numbered(index)))
    return storage


def _install_sharing(replaced: Replacements) -> None:
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
        has_files = MACHINE.kind is XPU and _torch.multiprocessing.get_sharing_strategy() == "file_descriptor"
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
