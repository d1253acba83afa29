"""Where each tensor would be: a label for each storage.

All tensors of a rehearsal are on the CPU. The label belongs to the storage, so that everything that shares memory has
one device, as on a real machine: views, `.data`, parameters, gradients, saved tensors. A storage without a label is
where PyTorch says it is.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from devlint_guard.record.stacks import Event
from devlint_guard.record.storages import PLACES, PLAIN, Place, Storages, storage_of
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA
from devlint_guard.rehearsal.machine import MACHINE
from devlint_guard.rehearsal.unjudged import JOURNAL, PLACED

ANYWHERE: Final = torch.device("meta", 127)
"""Labels a helper tensor that PyTorch's C++ code made for an operation, whose device cannot be seen.

Such a tensor goes with every device, and takes the label of the tensors that it meets first.
"""

_C: Any = torch._C
_address = _C._storage_address
_device_of = _C.TensorBase.device.__get__
_Storage: Any = torch.UntypedStorage

CPU: Final = torch.device("cpu")

_entries = PLACES.entries
_pinned: Storages[bool] = Storages()

devices: set[torch.device] = set()
"""The devices that labels have been given for."""

wrappers: Any = WeakIdKeyDictionary()
"""The tensors that are known to have no memory of their own, and the devices of them."""


def real_device(tensor: Tensor) -> torch.device:
    """Return the device on which PyTorch has a tensor."""
    with _C.DisableTorchFunctionSubclass():
        return _device_of(tensor)  # type: ignore[no-any-return]


def label(tensor: Tensor) -> torch.device:
    """Return the device on which a tensor would be, or `ANYWHERE`."""
    try:
        entry = _entries.get(_address(tensor)) if _entries else None
    except (RuntimeError, NotImplementedError):  # a tensor without a storage, such as a sparse one
        inside = _inside(tensor)
        return label(inside[-1]) if inside else _of_wrapper(tensor)
    if entry is not None and entry[1].label is not None:
        return entry[1].label
    return real_device(tensor) if tensor.__class__ in PLAIN else _of_wrapper(tensor)


def seen_device(tensor: Tensor) -> torch.device:
    """Return the device that a program sees: `ANYWHERE` is the CPU there."""
    device = label(tensor)
    return CPU if device == ANYWHERE else device


def type_name(tensor: Tensor) -> str:
    """Return the type of a tensor as C++ names it; `torch/csrc/Exceptions.cpp` has Python's names for CPU and CUDA."""
    name: str = tensor.type()
    if label(tensor).type != MACHINE.name or MACHINE.kind is CUDA:
        return name
    return MACHINE.kind.key + name.rpartition(".")[2].replace("Tensor", "Type")


def check_type(dtype: torch.dtype, device: torch.device) -> None:
    """Refuse a type of numbers that no tensor on a device has, with a TypeError (mps/EmptyTensor.cpp)."""
    if device.type == MACHINE.name and dtype in MACHINE.kind.refused:
        words.refuse(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use "
            "float32 instead.",
            TypeError,
        )


def put(tensor: Tensor, device: torch.device, origin: Event | None = None) -> Tensor:
    """Give the memory of a tensor a label, and an event if there is one, and return the tensor.

    Raises a TypeError as `check_type` does.
    """
    if MACHINE.kind.refused:
        check_type(tensor.dtype, device)
    storage = storage_of(tensor)
    if storage is not None:
        put_storage(storage, device, origin)
    for one in _inside(tensor) if storage is None else ():
        put(one, device, origin)
    return tensor


def put_storage(storage: Any, device: torch.device, origin: Event | None = None) -> None:
    """Give a storage a label, and an event if there is one."""
    entry = _entries.get(storage._cdata)
    if device != CPU:
        _note(device)
        known = None if entry is None else entry[1].origin
        PLACES.put_storage(storage, Place(device, origin or known))
    elif entry is not None:
        PLACES.put_storage(storage, Place(None, entry[1].origin))


def storage_label(storage: Any) -> torch.device:
    """Return the device on which a storage would be."""
    entry = _entries.get(storage._cdata)
    if entry is None or entry[1].label is None:
        return _storage_device(storage)  # type: ignore[no-any-return]
    return CPU if entry[1].label == ANYWHERE else entry[1].label


def memory_on(device: torch.device) -> int:
    """Return the number of bytes that all storages on a device take."""
    there = (reference for reference, place in _entries.copy().values() if place.label == device)
    found = map(_Storage._new_with_weak_ptr, there)
    return sum(storage.nbytes() for storage in found if storage is not None)


_storage_device = _C.StorageBase.device.__get__


def pin(tensor: Tensor) -> Tensor:
    """Mark the memory of a tensor as pinned, and return the tensor."""
    _pinned.put(tensor, True)
    return tensor


def is_pinned(tensor: Tensor) -> bool:
    """Whether the memory of a tensor was marked as pinned."""
    return _pinned.of(tensor) is not None


def put_wrapper(tensor: Tensor, device: torch.device) -> Tensor:
    """Give a tensor without memory of its own a label, and return the tensor."""
    wrappers[tensor] = device
    _note(device)
    return tensor


def _note(device: torch.device) -> None:
    if device not in devices:
        devices.add(device)
        JOURNAL.write(PLACED, device.type)


def used_gpu() -> bool:
    """Whether anything has been on a device of the machine, in this process or in a child."""
    return any(one.type == MACHINE.name for one in devices) or MACHINE.name in JOURNAL.read(PLACED)


def off_cpu() -> set[int] | None:
    """Return the addresses of all memory off the CPU; None if there are tensors without memory."""
    if len(wrappers):
        return None
    off = {address: reference for address, (reference, place) in _entries.copy().items() if place.label is not None}
    return {address for address, reference in off.items() if not _Storage._expired(reference)}


def forget() -> None:
    """Drop all labels."""
    wrappers.clear()
    PLACES.change(lambda place: Place(None, place.origin))
    _pinned.forget()
    devices.clear()


def _inside(tensor: Tensor) -> tuple[Tensor, ...]:
    """Return the plain tensors inside of a sparse tensor, or of one that a transformation has made, such as `vmap`."""
    functions = _C._functorch
    if functions.is_functorch_wrapped_tensor(tensor):
        return (functions.get_unwrapped(tensor),)
    if functions.is_legacy_batchedtensor(tensor):  # torch.autograd.grad(is_grads_batched=True)
        _C._vmapmode_increment_nesting()
        level = _C._vmapmode_decrement_nesting()
        return (torch._remove_batch_dim(tensor, level, 1, 0),)
    with _C.DisableTorchFunctionSubclass(), torch.no_grad():
        layout = tensor.layout
        if layout is torch.sparse_coo:
            return tensor._indices(), tensor._values()
        if layout in (torch.sparse_csr, torch.sparse_bsr):
            return tensor.crow_indices(), tensor.col_indices(), tensor.values()
        if layout in (torch.sparse_csc, torch.sparse_bsc):
            return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return ()


def _of_wrapper(tensor: Tensor) -> torch.device:
    """Return the device that a wrapper was given, or that of the first tensor inside of it."""
    told = getattr(tensor, "fake_device", None) or wrappers.get(tensor)
    if told is not None:
        return told  # type: ignore[no-any-return]
    flatten = getattr(type(tensor), "__tensor_flatten__", None)
    if flatten is not None:
        inner = getattr(tensor, flatten(tensor)[0][0])
        if isinstance(inner, Tensor):
            return label(inner)
    return real_device(tensor)
