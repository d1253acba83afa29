"""`torch.device`, and the old tensor types such as `torch.cuda.FloatTensor`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from devlint_guard.rehearsal.labels import CPU, label
from devlint_guard.rehearsal.machine import current, start
from devlint_guard.rehearsal.replacements import Replacements
from devlint_guard.rehearsal.tensors import to

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
    replaced.put(torch, "device", device)
    for name, dtype in _DTYPES.items():
        members = {"dtype": dtype, "is_cuda": True, "__module__": "torch.cuda"}
        replaced.put(_cuda, name, _OldType(name, (_OldTensor,), members))
    _install_type(replaced)
    _install_default(replaced)


class _DeviceType(type):
    """Makes every device an instance of `device`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _RealDevice)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _RealDevice)


class device(metaclass=_DeviceType):  # noqa: N801  (PyTorch's name)
    """Stands for `torch.device`, for which a number is the index of an accelerator."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: D102  (the class says it)
        if len(args) == 1 and not kwargs and type(args[0]) is int:
            return _RealDevice("cuda", args[0])
        return _RealDevice(*args, **kwargs)


class _OldType(type):
    """The type of the old types, which are no base classes of the tensors that are their instances."""

    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and label(instance).type == "cuda" and instance.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


class _OldTensor:
    """The base of the old types; a call makes a tensor on the current device (tensor_new.cpp, legacy_tensor_ctor)."""

    dtype: torch.dtype

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        start()
        if len(args) != 1:
            if all(isinstance(length, int) for length in args):
                return torch.empty(args or 0, dtype=cls.dtype, device="cuda")
            raise TypeError(f"{cls.__name__}: expected one sequence or the lengths of dimensions")
        (given,) = args
        if isinstance(given, Tensor):
            if label(given).type != "cuda":
                raise RuntimeError(
                    f"legacy constructor expects device type: cuda but device type: {label(given).type} was passed"
                )
            return given
        if isinstance(given, (torch.Size, int)):
            return torch.empty(given, dtype=cls.dtype, device="cuda")
        return torch.tensor(given, dtype=cls.dtype, device="cuda")


def _old_type(wanted: object) -> type[_OldTensor] | None:
    """Return the old type for CUDA that is meant, given as itself or by its name; None for everything else."""
    if isinstance(wanted, str) and wanted.startswith("torch.cuda."):
        wanted = getattr(_cuda, wanted.rpartition(".")[2])
    return wanted if isinstance(wanted, type) and issubclass(wanted, _OldTensor) else None


def _is_old_cpu_type(wanted: object) -> bool:
    """Whether one of the old types for the CPU is meant, such as `torch.FloatTensor`."""
    name = wanted if isinstance(wanted, str) else f"torch.{getattr(wanted, '__name__', '')}"
    return name.startswith("torch.") and name.removeprefix("torch.") in _DTYPES


def _install_type(replaced: Replacements) -> None:
    tensor: Any = Tensor
    original = tensor.type

    def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            text = str(original(self))
            return text.replace("torch.", "torch.cuda.", 1) if label(self).type == "cuda" else text
        wanted = _old_type(dtype)
        if wanted is not None:
            start()
            own = label(self)
            return to(self, own if own.type == "cuda" else torch.device("cuda", current()), wanted.dtype)
        if _is_old_cpu_type(dtype):
            return original(to(self, CPU), dtype, non_blocking, **kwargs)
        return original(self, dtype, non_blocking, **kwargs)

    replaced.put(tensor, "type", type_)


def _install_default(replaced: Replacements) -> None:
    original = torch.set_default_tensor_type

    def set_default_tensor_type(t: Any, /) -> None:
        wanted = _old_type(t)
        if wanted is not None:
            start()
            # A program can observe two effects: the default dtype, and factories whose default device is CUDA.
            torch.set_default_dtype(wanted.dtype)
            torch.set_default_device("cuda")
            return
        torch.set_default_device(None)
        original(t)

    replaced.put(torch, "set_default_tensor_type", set_default_tensor_type)
