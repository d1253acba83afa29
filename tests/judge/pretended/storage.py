"""Untyped storages and pinned memory: moving and copying memory that a CPU build can neither move nor pin."""

from __future__ import annotations

from typing import Any

import torch

from tests.judge.pretended.machine import check_index, device_index
from tests.judge.pretended.relabel import CPU, to_cpu_label, to_cuda_label

_cuda: Any = torch.cuda


def install_storage() -> None:
    """Replaces the methods of UntypedStorage that cross devices."""
    storage: Any = torch.UntypedStorage
    base: Any = torch.storage._StorageBase
    original_to, original_cpu, original_clone = storage.to, storage.cpu, base.clone

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        _cuda._lazy_init()
        index = device_index(device)
        return self if self.device == torch.device("cuda", index) else _copy_to_cuda(self, index)

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        device = torch.device(device)
        if device.type == "cuda":
            return cuda(self, device)
        return original_to(self, device=device, non_blocking=non_blocking)

    def cpu(self: Any) -> Any:
        if self.device.type == "cuda":
            return _bytes_of(self).clone().untyped_storage()
        return original_cpu(self)

    def clone(self: Any) -> Any:
        return _copy_to_cuda(self, self.device.index) if self.device.type == "cuda" else original_clone(self)

    storage.cuda, storage.to, storage.cpu = cuda, to, cpu
    base.clone = clone


def install_pinning() -> None:
    """Replaces pinning; a pinned tensor is one that carries a mark."""
    tensor: Any = torch.Tensor

    def pin_memory(self: Any, device: Any = None) -> Any:
        if self.device.type != "cpu":
            raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        _cuda._lazy_init()
        if is_pinned(self):
            return self
        with torch.no_grad():
            pinned = self.clone().detach()
        pinned.requires_grad_(self.requires_grad)
        pinned._pretends_to_be_pinned = True
        return pinned

    def is_pinned(self: Any, device: Any = None) -> bool:
        return bool(getattr(self, "_pretends_to_be_pinned", False))

    tensor.pin_memory = pin_memory
    tensor.is_pinned = is_pinned


def _bytes_of(storage: Any) -> torch.Tensor:
    """A CPU tensor over the memory of a storage on any device."""
    empty = torch.empty(0, dtype=torch.uint8, device=CPU)
    if storage.device.type == "cpu":
        return empty.set_(storage)
    return to_cpu_label(to_cuda_label(empty, storage.device.index).set_(storage))


def _copy_to_cuda(storage: Any, index: int) -> Any:
    check_index(index)
    copy = torch.empty(storage.nbytes(), dtype=torch.uint8, device=CPU)
    if storage.nbytes():
        copy.copy_(_bytes_of(storage))
    return to_cuda_label(copy, index).untyped_storage()
