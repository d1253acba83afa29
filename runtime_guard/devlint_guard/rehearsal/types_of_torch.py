"""`torch.device`, and the old tensor types such as `torch.cuda.FloatTensor`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.labels import CPU, label
from devlint_guard.rehearsal.machine import current, start
from devlint_guard.rehearsal.tensors import legacy, to

_torch: Any = torch
_cuda: Any = torch.cuda
_RealDevice: Any = torch.device

_DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


def install(replaced: Replacements) -> None:
    """Replace the types and the functions that take them."""
    if not _takes_numbers():
        replaced.put(torch, "device", device)
    for name, dtype in _DTYPES.items():
        original = getattr(torch, name)
        for owner in (torch, _cuda):
            members = {
                "dtype": dtype,
                "is_cuda": owner is _cuda,
                "original": original,
                "__module__": owner.__name__,
            }
            replaced.put(owner, name, _OldType(name, (_OldTensor,), members))
    _install_type(replaced)
    _install_default(replaced)


def _takes_numbers() -> bool:
    """Whether this build of torch has accelerators: only then PyTorch makes a device of a number."""
    try:
        _RealDevice(0)
    except RuntimeError:
        return False
    return True


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
            return _RealDevice("cuda", args[0])
        return _RealDevice(*args, **kwargs)


class _OldType(type):
    """The type of the old types, which are no base classes of the tensors that are their instances."""

    dtype: torch.dtype
    is_cuda: bool

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and (instance.dtype, instance.is_cuda) == (cls.dtype, cls.is_cuda)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


class _OldTensor:
    """The base of the old types; a call makes a tensor on the CPU or on the current device."""

    dtype: torch.dtype
    is_cuda: bool
    is_sparse = False
    layout = torch.strided
    original: Any
    """PyTorch's own type for the CPU."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.is_cuda:
            start()
        where = torch.device("cuda", current()) if cls.is_cuda else CPU
        with torch._C._DisableTorchDispatch():
            return legacy(cls.original, cls.dtype, where, args, kwargs)


def _old_type(wanted: object) -> type[_OldTensor] | None:
    """Return the old type that is meant, given as itself or by its name; None for everything else."""
    if isinstance(wanted, str):
        module, _, name = wanted.rpartition(".")
        owner = {"torch": _torch, "torch.cuda": _cuda}.get(module)
        wanted = getattr(owner, name, None) if name in _DTYPES else None
    return wanted if isinstance(wanted, type) and issubclass(wanted, _OldTensor) else None


def _install_type(replaced: Replacements) -> None:
    tensor: Any = Tensor
    original = tensor.type

    def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            text = str(original(self))
            return text.replace("torch.", "torch.cuda.", 1) if label(self).type == "cuda" else text
        wanted = _old_type(dtype)
        if wanted is not None and wanted.is_cuda:
            start()
            own = label(self)
            return to(self, own if own.type == "cuda" else torch.device("cuda", current()), wanted.dtype)
        if wanted is not None:
            return to(self, CPU, wanted.dtype)
        return original(self, dtype, non_blocking, **kwargs)

    replaced.put(tensor, "type", type_)


def _install_default(replaced: Replacements) -> None:
    original = torch.set_default_tensor_type

    def set_default_tensor_type(t: Any, /) -> None:
        wanted = _old_type(t)
        if wanted is not None and wanted.is_cuda:
            # A program can observe two effects: the default dtype, and factories whose default device is CUDA. Only
            # the factories need a device.
            torch.set_default_dtype(wanted.dtype)
            torch.set_default_device("cuda")
            return
        torch.set_default_device(None)
        original(t if wanted is None else wanted.original)

    replaced.put(torch, "set_default_tensor_type", set_default_tensor_type)
