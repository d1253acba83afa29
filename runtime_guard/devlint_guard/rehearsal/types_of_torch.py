"""`torch.device`, and the old tensor types such as `torch.cuda.FloatTensor`."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.kinds import MPS
from devlint_guard.rehearsal.labels import CPU, label
from devlint_guard.rehearsal.machine import MACHINE, current, numbered, start
from devlint_guard.rehearsal.tensors import legacy, to

_torch: Any = torch
_RealDevice: Any = torch.device

_OLD_NAMES = tuple(f"{name}Tensor" for name in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split())


def install(replaced: Replacements) -> None:
    """Replace the types and the functions that take them."""
    try:
        _RealDevice(0)
    except RuntimeError:  # only in a build with accelerators, PyTorch makes a device of a number
        replaced.put(torch, "device", device)
    _old_types.clear()
    owners = (_torch,) if MACHINE.kind is MPS else (_torch, getattr(_torch, MACHINE.name))  # MPS has no names for them
    for name in _OLD_NAMES:
        original = getattr(torch, name)
        for owner in owners:
            members = {
                "dtype": original.dtype,
                "is_on_device": owner is not torch,
                "is_cuda": owner is torch.cuda,
                "original": original,
                "__module__": owner.__name__,
            }
            made = _old_types[f"{owner.__name__}.{name}"] = _OldType(name, (_OldTensor,), members)
            if hasattr(owner, name):  # of the devices, only CUDA has them (python_tensor.cpp, all_declared_types)
                replaced.put(owner, name, made)
    replaced.around(Tensor, "type", _type)
    _OldTensor.is_default = False
    replaced.around(Tensor, "__new__", _new)
    replaced.around(torch, "set_default_tensor_type", _set_default)


class _DeviceType(type):
    """Makes every device an instance of `device`, which equals PyTorch's own type, as tables of types have it."""

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is _RealDevice

    def __hash__(cls) -> int:
        return hash(_RealDevice)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _RealDevice)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _RealDevice)


class device(metaclass=_DeviceType):  # noqa: N801  (PyTorch's name)
    """Stands for `torch.device`, for which a number is the index of an accelerator.

    It has PyTorch's name, by which a pickled device finds its class.
    """

    __module__ = "torch"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: D102  (the class says it)
        if len(args) == 1 and not kwargs and type(args[0]) is int:
            return numbered(args[0])
        return _RealDevice(*args, **kwargs)


class _OldType(type):
    """The type of the old types, which are no base classes of the tensors that are their instances."""

    dtype: torch.dtype
    is_on_device: bool

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Tensor) or instance.dtype != cls.dtype:
            return False
        return (label(instance).type == MACHINE.name) == cls.is_on_device

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


class _OldTensor:
    """The base of the old types; a call makes a tensor on the CPU or on the current device."""

    dtype: torch.dtype
    is_on_device: bool
    is_sparse = False
    layout = torch.strided
    original: Any
    """PyTorch's own type for the CPU."""

    is_default = False
    """Whether one of the devices' types is that of `torch.Tensor`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.is_on_device:
            start()
        where = numbered(current()) if cls.is_on_device else CPU
        with torch._C._DisableTorchDispatch():
            return legacy(cls.original, cls.dtype, where, args, kwargs)


_old_types: dict[str, type] = {}
"""The old types by their names."""


def _old_type(wanted: object) -> type[_OldTensor] | None:
    """Return the old type that is meant, given as itself or by its name; None for everything else."""
    if isinstance(wanted, str):
        wanted = _old_types.get(wanted)
    return wanted if isinstance(wanted, type) and issubclass(wanted, _OldTensor) else None


def _type(original: Any, self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    if dtype is None:
        text = str(original(self))
        return text.replace("torch.", f"torch.{MACHINE.name}.", 1) if label(self).type == MACHINE.name else text
    wanted = _old_type(dtype)
    if wanted is None:
        return original(self, dtype, non_blocking, **kwargs)
    if not wanted.is_on_device:
        return to(self, CPU, wanted.dtype)
    start()
    own = label(self)
    return to(self, own if own.type == MACHINE.name else numbered(current()), wanted.dtype)


def _new(make: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a tensor of the default type, which no default device changes."""
    if not _OldTensor.is_default:
        return make(cls, *args, **kwargs)
    return legacy(functools.partial(make, cls), torch.get_default_dtype(), numbered(current()), args, kwargs)


def _set_default(original: Any, t: Any, /) -> None:
    wanted = _old_type(t)
    was, _OldTensor.is_default = _OldTensor.is_default, wanted is not None and wanted.is_on_device
    if wanted is not None and wanted.is_on_device:
        # A program can observe three effects: the default dtype, the device of `torch.Tensor(…)`, and factories whose
        # default device is CUDA.
        torch.set_default_dtype(wanted.dtype)
        torch.set_default_device(MACHINE.name)
        return
    if was:
        torch.set_default_device(None)
    original(t if wanted is None else wanted.original)
