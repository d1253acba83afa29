"""Gives a tensor another device without touching its memory, by way of DLPack.

A CPU tensor's DLPack capsule names its device. When that is overwritten with (CUDA, i), importing the capsule
builds a TensorImpl with device cuda:i and the CUDA dispatch key, and never calls the CUDA runtime. The
reverse gives a CPU alias of a pretended CUDA tensor.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import torch

ATEN: Any = torch.ops.aten
CPU = torch.device("cpu")
CPU_KEY = torch._C.DispatchKey.CPU

_C: Any = torch._C
_DLPACK_CPU, _DLPACK_CUDA = 1, 2
_DLPACK_DTYPES = frozenset(
    {
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.bool,
        torch.complex64,
        torch.complex128,
        torch.complex32,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    }
)


class _DLDevice(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DLTensorHead(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", _DLDevice))


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@contextlib.contextmanager
def as_kernel() -> Iterator[None]:
    """Runs the body as a backend kernel runs: below autograd, unseen by torch function modes."""
    with _C._AutoDispatchBelowAutograd(), _C.DisableTorchFunction():
        yield


def to_cuda_label(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """A cuda:index tensor over the memory of a CPU tensor."""
    with as_kernel():
        if tensor.is_conj():
            tensor = ATEN.resolve_conj.default(tensor)
        if tensor.is_neg():
            tensor = ATEN.resolve_neg.default(tensor)
        return _relabel(ATEN.detach.default(tensor), _DLPACK_CUDA, index)


def to_cpu_label(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the memory of a CUDA tensor, which it keeps alive."""
    with as_kernel():
        is_conj, is_neg = tensor.is_conj(), tensor.is_neg()
        plain = ATEN.detach.default(tensor)
        # conjugation and negation are lazy bits: applied a second time they vanish
        if is_conj:
            plain = ATEN._conj.default(plain)
        if is_neg:
            plain = ATEN._neg_view.default(plain)
        alias = _relabel(plain, _DLPACK_CPU, 0)
        if is_conj:
            alias = ATEN._conj.default(alias)
        if is_neg:
            alias = ATEN._neg_view.default(alias)
        return alias


def adopt(tensor: torch.Tensor, cpu: torch.Tensor) -> None:
    """Makes a CUDA tensor object take over the memory and the geometry of a CPU tensor."""
    new = to_cuda_label(cpu, tensor.device.index)
    set_geometry(tensor, new.untyped_storage(), new.storage_offset(), list(new.shape), list(new.stride()))


def set_geometry(
    tensor: torch.Tensor, storage: torch.UntypedStorage, offset: Any, shape: list[int], stride: list[int]
) -> Any:
    """Runs the real `set_` kernel, which does not mind the device."""
    return ATEN.set_.source_Storage_storage_offset._op_dk(CPU_KEY, tensor, storage, offset, shape, stride)


def _relabel(tensor: torch.Tensor, device_type: int, index: int) -> torch.Tensor:
    if tensor.dtype in _DLPACK_DTYPES:
        return _same_stride(_exchange(tensor, device_type, index), tensor)
    # DLPack has no name for the dtype, float8 for one: its bytes take the trip
    raw = ATEN.view.dtype(tensor.contiguous() if device_type == _DLPACK_CUDA else tensor, torch.uint8)
    return ATEN.view.dtype(_exchange(raw, device_type, index), tensor.dtype)  # type: ignore[no-any-return]


def _exchange(tensor: torch.Tensor, device_type: int, index: int) -> torch.Tensor:
    capsule = _C._to_dlpack(tensor)
    pointer = _capsule_pointer(capsule, b"dltensor")
    head = ctypes.cast(pointer, ctypes.POINTER(_DLTensorHead)).contents
    head.device.device_type = device_type
    head.device.device_id = index
    return _C._from_dlpack(capsule)  # type: ignore[no-any-return]


def _same_stride(new: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """DLPack normalises the strides of dimensions of length 1; puts back what they were."""
    if new.stride() == like.stride():
        return new
    return ATEN.as_strided.default._op_dk(  # type: ignore[no-any-return]
        CPU_KEY, new, list(like.shape), list(like.stride()), new.storage_offset()
    )
