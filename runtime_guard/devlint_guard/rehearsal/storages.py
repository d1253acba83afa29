"""Untyped storages, and checkpoints, which are written and read storage by storage."""

from __future__ import annotations

from typing import Any

import torch

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.labels import CPU, put_storage, storage_label
from devlint_guard.rehearsal.machine import count, index_of, resolve

_C: Any = torch._C


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

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(self, device=torch.device("cuda", index_of(device)))

    replaced.add(storage, "device", property(storage_label))
    replaced.add(storage, "is_cuda", property(lambda self: storage_label(self).type == "cuda"))
    replaced.add(storage, "get_device", lambda self: -1 if (at := storage_label(self)).index is None else at.index)
    replaced.add(storage, "to", to)
    replaced.add(storage, "cuda", cuda)
    replaced.add(storage, "cpu", lambda self: self if storage_label(self) == CPU else on(self, CPU))
    replaced.add(storage, "clone", lambda self: on(self, storage_label(self)))
    _install_checkpoints(replaced)


def _install_checkpoints(replaced: Replacements) -> None:
    """Register how labels are written and read, by the registry that torch.serialization documents for backends."""
    registry = torch.serialization._package_registry
    replaced.put(torch.serialization, "_package_registry", [(1, _tag, _restore), *registry])


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)


def _tag(storage: Any) -> str | None:
    device = storage_label(_untyped(storage))
    return str(device) if device.type == "cuda" else None


def _restore(storage: Any, location: str) -> Any:
    """Follow torch/serialization.py, _validate_device."""
    if not location.startswith("cuda"):
        return None
    if not count():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    index = torch.device(location).index
    index = index_of(None) if index is None else index
    if index >= count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {count()}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    put_storage(_untyped(storage), resolve(torch.device("cuda", index)))
    return storage
