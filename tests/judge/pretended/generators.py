"""Random generators that say they belong to a CUDA device, and are CPU generators underneath."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from tests.judge.pretended.machine import MACHINE, current_device, start_driver

_cuda: Any = torch.cuda
_CpuGenerator: Any = torch._C.Generator
_DEVICE_OFFSET = 56  # offsetof(c10::GeneratorImpl, device_), verified whenever one is made
_CPU_DEVICE = b"\x00\xff"

_pretended: dict[int, tuple[Any, int]] = {}
"""The pretended CUDA generators by the address of their GeneratorImpl, with their index."""


def make_generator(device: torch.device) -> Any:
    """A generator that PyTorch's own checks see on `device`; `cuda` means the current device.

    Raises:
        RuntimeError: GeneratorImpl is not laid out as in the release this is written for.
    """
    index = current_device() if device.index is None else device.index
    generator = _CpuGenerator(device="cpu")
    if ctypes.string_at(generator._cdata + _DEVICE_OFFSET, 2) != _CPU_DEVICE:
        raise RuntimeError("unexpected GeneratorImpl layout")
    _write_device(generator, _cuda_device(index))
    _pretended[generator._cdata] = (generator, index)
    return generator


def check_generator(value: object) -> None:
    """Raises what a CUDA kernel raises for a generator of another device type."""
    if isinstance(value, _CpuGenerator) and value._cdata not in _pretended:
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{value.device.type}'")


@contextlib.contextmanager
def as_cpu_generators(values: Iterable[object]) -> Iterator[None]:
    """While the body runs, the pretended generators among `values` are what they are underneath."""
    found = [v for v in values if isinstance(v, _CpuGenerator) and v._cdata in _pretended]
    for generator in found:
        _write_device(generator, _CPU_DEVICE)
    try:
        yield
    finally:
        for generator in found:
            _write_device(generator, _cuda_device(_pretended[generator._cdata][1]))


class _GeneratorType(type):
    """Lets isinstance and issubclass take every generator for one of `Generator`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _CpuGenerator)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _CpuGenerator)


class Generator(metaclass=_GeneratorType):
    """Takes the place of torch.Generator."""

    def __new__(cls, device: Any = "cpu") -> Any:
        wanted = torch.device(device)
        if wanted.type != "cuda":
            return _CpuGenerator(device=device)
        _cuda._lazy_init()
        index = current_device() if wanted.index is None else wanted.index
        if index >= start_driver():
            raise RuntimeError(
                "device_index >= 0 && device_index < num_gpus INTERNAL ASSERT FAILED (CUDAGeneratorImpl)"
            )
        return make_generator(wanted)


class DefaultGenerators:
    """Takes the place of torch.cuda.default_generators."""

    def __getitem__(self, index: int) -> Any:
        return _default_generators()[index]

    def __len__(self) -> int:
        return start_driver()


@functools.cache
def _default_generators() -> list[Any]:
    return [make_generator(torch.device("cuda", index)) for index in range(max(1, MACHINE.physical))]


def _cuda_device(index: int) -> bytes:
    return bytes((1, index))


def _write_device(generator: Any, device: bytes) -> None:
    ctypes.memmove(generator._cdata + _DEVICE_OFFSET, device, len(device))
