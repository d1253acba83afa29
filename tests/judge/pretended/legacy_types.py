"""The old tensor types, torch.cuda.FloatTensor and its like, and the functions that take them."""

from __future__ import annotations

from typing import Any

import torch

from tests.judge.pretended.machine import current_device

_torch: Any = torch
_cuda: Any = torch.cuda

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


class _LegacyType(type):
    """The type of the types, which are not base classes of the tensors they stand for."""

    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_cuda and instance.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


class _LegacyTensor:
    """Base of the pretended types; calling one makes a tensor on the current CUDA device."""

    dtype: torch.dtype

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        _cuda._lazy_init()
        if len(args) != 1:
            if all(isinstance(length, int) for length in args):
                return torch.empty(args or 0, dtype=cls.dtype, device="cuda")
            return _torch.tensor(*args, dtype=cls.dtype, device="cuda")
        (argument,) = args
        if isinstance(argument, torch.Tensor):
            return torch.empty(0, dtype=cls.dtype, device="cuda").new(argument)
        if isinstance(argument, (torch.Size, int)):
            return torch.empty(argument, dtype=cls.dtype, device="cuda")
        return torch.tensor(argument, dtype=cls.dtype, device="cuda")


def install_legacy_types() -> None:
    """Replaces the types, which in a CPU build cannot make tensors, and what takes them as an argument."""
    for name, dtype in _DTYPES.items():
        members = {"dtype": dtype, "is_cuda": True, "__module__": "torch.cuda"}
        setattr(_cuda, name, _LegacyType(name, (_LegacyTensor,), members))
    _replace_tensor_type()
    _replace_set_default_tensor_type()


def _replace_tensor_type() -> None:
    tensor: Any = torch.Tensor
    original = tensor.type

    def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            return original(self)
        wanted = _legacy_type(dtype)
        if wanted is None:
            return original(self, dtype, non_blocking, **kwargs)
        _cuda._lazy_init()
        # a tensor that is on a CUDA device stays on it; others go to the current one
        device = self.device if self.is_cuda else torch.device("cuda", current_device())
        return self.to(device=device, dtype=wanted.dtype, non_blocking=non_blocking)

    tensor.type = type_


def _replace_set_default_tensor_type() -> None:
    original = _torch.set_default_tensor_type

    def set_default_tensor_type(t: Any, /) -> None:
        wanted = _legacy_type(t)
        if wanted is not None:
            # What can be observed of it: the default dtype, and factories that default to CUDA. These need a device.
            torch.set_default_dtype(wanted.dtype)
            torch.set_default_device("cuda")
            return
        if getattr(_torch, "_GLOBAL_DEVICE_CONTEXT", None) is not None:
            torch.set_default_device(None)
        original(t)

    _torch.set_default_tensor_type = set_default_tensor_type


def _legacy_type(wanted: object) -> type[_LegacyTensor] | None:
    """The pretended type that is meant, given as itself or by its name; None when another type is meant."""
    if isinstance(wanted, str) and wanted.startswith("torch.cuda."):
        wanted = getattr(_cuda, wanted.rpartition(".")[2])
    return wanted if isinstance(wanted, type) and issubclass(wanted, _LegacyTensor) else None
