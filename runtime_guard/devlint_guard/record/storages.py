"""Something for the memory of each tensor: views, `.data`, parameters and detached tensors share it.

An entry keeps a weak reference to the storage: its address is not used again before the entry is dropped. A rehearsal
and the record of a run share one entry: where the memory is, and why (`PLACES`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import torch
from torch import Tensor

from devlint_guard.record.stacks import Event

_C: Any = torch._C
_address = _C._storage_address
_storage_of = _C.TensorBase.untyped_storage
function_modes = _C._len_torch_function_stack
_Storage: Any = torch.UntypedStorage
PLAIN: Final = frozenset({Tensor, torch.nn.Parameter})

_FIRST_LIMIT = 512
"""So few entries stay in the processor's cache, together with the storages that their references keep."""

Value = TypeVar("Value")


class Storages(Generic[Value]):
    """A value for each storage, such as its last event."""

    def __init__(self) -> None:
        self.entries: dict[int, tuple[int, Value]] = {}
        self._limit = _FIRST_LIMIT
        self._sweeping = threading.Lock()

    def put(self, tensor: Tensor, value: Value) -> None:
        """Keeps a value for a tensor's memory; a tensor without memory of its own has none."""
        storage = storage_of(tensor)
        if storage is not None:
            self.put_storage(storage, value)

    def put_storage(self, storage: Any, value: Value) -> None:
        """Keeps a value for a storage."""
        address = storage._cdata
        known = self.entries.get(address)
        if known is not None:
            self.entries[address] = (known[0], value)
            return
        if len(self.entries) >= self._limit:
            self._sweep()
        self.entries[address] = (storage._weak_ref(), value)

    def change(self, changed: Callable[[Value], Value]) -> None:
        """Exchanges all values."""
        with self._sweeping:
            for address, (reference, value) in self.entries.copy().items():
                self.entries[address] = reference, changed(value)

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


def storage_of(tensor: Tensor) -> Any:
    """The storage of a tensor; None for a tensor without memory of its own."""
    try:
        if tensor.__class__ in PLAIN and not function_modes():
            return _storage_of(tensor)
        with _C.DisableTorchFunction():
            return _storage_of(tensor)
    except (RuntimeError, NotImplementedError):
        return None


class Place:
    """Where memory is, and why. What an operator makes has the place of an operand: most tensors share few places.

    Attributes:
        label: the device on which a rehearsal has it; None where PyTorch says where it is.
        origin: the last event that decided that.
        number: that of the event; 0 without one.
    """

    __slots__ = ("label", "number", "origin")

    def __init__(self, label: torch.device | None = None, origin: Event | None = None) -> None:
        self.label, self.origin = label, origin
        self.number = 0 if origin is None else origin.number


UNKNOWN: Final = Place()
PLACES: Final = Storages[Place]()


def place_of(tensor: Tensor) -> Place:
    """What is known of a tensor's memory."""
    return PLACES.of(tensor) or UNKNOWN
