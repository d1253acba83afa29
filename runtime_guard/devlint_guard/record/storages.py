"""Something for the memory of each tensor: views, `.data`, parameters and detached tensors share it.

An entry keeps a weak reference to the storage: its address is not used again before the entry is dropped.
"""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

_C: Any = torch._C
_address = _C._storage_address
_storage_of = _C.TensorBase.untyped_storage
_modes = _C._len_torch_function_stack
_Storage: Any = torch.UntypedStorage
_PLAIN = frozenset({Tensor, torch.nn.Parameter})

_FIRST_LIMIT = 4_096


Value = TypeVar("Value")


class Storages(Generic[Value]):
    """A value for each storage, such as its last event."""

    def __init__(self) -> None:
        self.entries: dict[int, tuple[int, Value]] = {}
        self._limit = _FIRST_LIMIT
        self._sweeping = threading.Lock()

    def put(self, tensor: Tensor, value: Value) -> None:
        """Keeps a value for a tensor's memory; a tensor without memory of its own has none."""
        try:
            if tensor.__class__ in _PLAIN and not _modes():
                storage = _storage_of(tensor)
            else:
                with _C.DisableTorchFunction():
                    storage = _storage_of(tensor)
        except (RuntimeError, NotImplementedError):
            return
        self.put_storage(storage, value)

    def put_storage(self, storage: Any, value: Value) -> None:
        """Keeps a value for a storage."""
        known = self.entries.get(storage._cdata)
        if known is None:
            self.add(storage, value)
        else:
            self.entries[storage._cdata] = (known[0], value)

    def add(self, storage: Any, value: Value) -> None:
        """Keeps a value for a storage that has none."""
        if len(self.entries) >= self._limit:
            self._sweep()
        self.entries[storage._cdata] = (storage._weak_ref(), value)

    def of(self, tensor: Tensor) -> Value | None:
        """The value for a tensor's memory."""
        try:
            entry = self.entries.get(_address(tensor))
        except (RuntimeError, NotImplementedError):
            return None
        return None if entry is None else entry[1]

    def forget(self) -> None:
        """Drops all values."""
        for reference, _ in self.entries.copy().values():
            _Storage._free_weak_ref(reference)
        self.entries.clear()
        self._limit = _FIRST_LIMIT

    def _sweep(self) -> None:
        """Drops the entries of storages that are gone, unless another thread does so already."""
        if not self._sweeping.acquire(blocking=False):
            return
        try:
            for address, (reference, _) in self.entries.copy().items():
                if _Storage._expired(reference):
                    _Storage._free_weak_ref(self.entries.pop(address)[0])
            self._limit = max(_FIRST_LIMIT, 2 * len(self.entries))
        finally:
            self._sweeping.release()
