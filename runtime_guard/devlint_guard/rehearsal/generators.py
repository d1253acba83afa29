"""Random generators: each is one of the CPU underneath, and says on which device it would be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import torch

from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import MPS
from devlint_guard.rehearsal.machine import CPU, MACHINE, count, judge_cpu, numbered, resolve

_CpuGenerator: Any = torch._C.Generator
_devices: dict[int, tuple[Any, torch.device]] = {}
"""By the address of a generator, the generator and its device."""


def device_of(generator: Any) -> torch.device:
    """Return the device of a generator."""
    entry = _devices.get(generator._cdata)
    return CPU if entry is None else entry[1]


def check(values: Iterable[Any], target: torch.device | None, operator: str) -> None:
    """Follow ATen/core/Generator.h: a kernel refuses the generator of another type of device."""
    if target is None or target.type not in MACHINE.types:
        return
    for found in (device_of(value) for value in values if isinstance(value, _CpuGenerator)):
        if found.type != target.type:
            if operator == "randperm" and target == CPU:  # TensorFactories.cpp, randperm
                words.refuse(f"Expected a 'cpu' generator device but found '{found}'")
            words.refuse(f"Expected a '{target.type}' device type for generator but found '{found.type}'")


def forget() -> None:
    """Drop the devices of all generators."""
    _devices.clear()
    DEFAULTS.made.clear()


def _make(kind: type[Generator], device: torch.device) -> Generator:
    is_own = device.type == MACHINE.name
    self: Generator = _CpuGenerator.__new__(kind, device=CPU if is_own else device)
    if is_own:  # that of MPS has no index (MPSGeneratorImpl.mm)
        _devices[self._cdata] = self, torch.device("mps") if MACHINE.kind is MPS else device
    return self


class Generator(_CpuGenerator):  # type: ignore[misc]
    """Stands for `torch.Generator`."""

    def __new__(cls, device: Any = "cpu") -> Generator:  # noqa: D102  (the class says it)
        where = resolve(device)
        if where != CPU:
            judge_cpu()
        return _make(cls, where)

    def __init__(self, device: Any = "cpu") -> None:
        """Take the argument that `__new__` has used."""

    @property
    def device(self) -> torch.device:
        """The device on which the generator would be."""
        return device_of(self)


class DefaultGenerators:
    """The generators of all devices, made when they are first asked for, as `torch.cuda.default_generators`."""

    def __init__(self) -> None:
        self.made: dict[int, Generator] = {}

    def __len__(self) -> int:
        return count()

    def __getitem__(self, index: int) -> Generator:
        judge_cpu()  # the program may give it to any operator
        return self.of(index)

    def of(self, index: int) -> Generator:
        """The generator of a device."""
        if not 0 <= index < max(count(), MACHINE.devices):
            raise IndexError("tuple index out of range")
        if index not in self.made:
            generator = self.made[index] = _make(Generator, numbered(index))
            generator.manual_seed(torch.initial_seed())
        return self.made[index]

    def __iter__(self) -> Any:
        return (self.of(index) for index in range(len(self)))


DEFAULTS: Final = DefaultGenerators()


@contextlib.contextmanager
def drawing_on(device: torch.device) -> Iterator[None]:
    """While the body runs, an operator that takes no generator draws the numbers of a device."""
    host, own = torch.default_generator, DEFAULTS.of(device.index)
    before = host.get_state()
    host.set_state(own.get_state())
    try:
        yield
    finally:
        own.set_state(host.get_state())
        host.set_state(before)
