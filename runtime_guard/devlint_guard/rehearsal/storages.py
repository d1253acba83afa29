"""Untyped storages, and checkpoints, which are written and read storage by storage."""

from __future__ import annotations

from typing import Any

import torch

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.kinds import MPS
from devlint_guard.rehearsal.labels import CPU, put_storage, storage_label
from devlint_guard.rehearsal.machine import MACHINE, count, index_of, numbered, resolve, start

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

    def to_device(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(self, device=numbered(index_of(device)))

    replaced.add(storage, "device", property(storage_label))
    replaced.add(storage, f"is_{MACHINE.name}", property(lambda self: storage_label(self).type == MACHINE.name))
    replaced.add(storage, "get_device", lambda self: -1 if (at := storage_label(self)).index is None else at.index)
    replaced.add(storage, "to", to)
    replaced.add(storage, MACHINE.name, to_device)
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
