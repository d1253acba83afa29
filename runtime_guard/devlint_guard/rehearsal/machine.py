"""The pretended machine: its devices, and what their driver would know of this process."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA, MPS, Kind

_Device: Any = torch.device  # PyTorch's own, which is faster than the class that stands for it
CPU = torch.device("cpu")


class Program(NamedTuple):
    """A program that is to be rehearsed, and its machine.

    Attributes:
        target: a script, a folder or archive with a `__main__.py`, or the dotted name of a module.
        arguments: what the program finds in `sys.argv[1:]`.
        as_module: whether `target` is the name of a module, as in `python -m`.
        devices: how many devices the machine has.
        device_type: their type.
        steps: after how many steps of optimizers the program ends; None for its own end.
        batches: how many batches each loader gives in an epoch; None for all.
    """

    target: str
    arguments: Sequence[str]
    as_module: bool
    devices: int
    device_type: str
    steps: int | None
    batches: int | None


@dataclass(slots=True)
class Machine:
    """The state of a machine and of its driver.

    Attributes:
        kind: the type of its devices.
        devices: the number of devices that are built in.
        visible: the number of devices that the driver found when it started; None before.
        is_started: something in this process has started the driver.
        is_bad_fork: this process was forked from one in which the driver had been started.
        steps, batches: those of a `Program`.
        used: is called before a tensor can be off the CPU.
        operators: how many operators have run on the devices in this process.
        judges_cpu: an operator may have to refuse tensors that are all on the CPU.
    """

    kind: Kind = CUDA
    devices: int = 0
    visible: int | None = None
    is_started: bool = False
    is_bad_fork: bool = False
    steps: int | None = None
    batches: int | None = None
    used: Callable[[], object] = bool
    operators: int = 0
    judges_cpu: bool = False

    @property
    def name(self) -> str:
        """The name of the type of its devices."""
        return self.kind.name

    @property
    def types(self) -> tuple[str, str]:
        """The types of devices that labels tell apart; PyTorch itself knows where a tensor of another type is."""
        return "cpu", self.kind.name


MACHINE = Machine()

_thread = threading.local()


def begin(kind: Kind, devices: int) -> None:
    """Make a machine with so many devices of a type, whose driver has not started."""
    MACHINE.kind, MACHINE.devices, MACHINE.visible = kind, devices, None
    MACHINE.steps = MACHINE.batches = None
    MACHINE.is_started = MACHINE.is_bad_fork = MACHINE.judges_cpu = False
    _thread.device = 0


def after_fork_in_child() -> None:
    """Note that a process was forked; the devices cannot be used there if they were used before."""
    if MACHINE.devices:
        MACHINE.is_bad_fork = MACHINE.is_bad_fork or MACHINE.is_started
        _note_started(False)


def _note_started(is_started: bool) -> None:
    """Tell PyTorch's module whether the driver has started; that for MPS does not ask."""
    module: Any = getattr(torch, MACHINE.name)
    if hasattr(module, "_initialized"):
        module._initialized = is_started


def count() -> int:
    """Return the number of devices that the program sees.

    Until the driver starts, its environment variable decides anew each time. The driver of CUDA stops at the first
    entry that names no device (CUDA C++ Programming Guide, "CUDA Environment Variables").
    """
    if MACHINE.visible is not None:
        return MACHINE.visible
    setting = os.environ.get(MACHINE.kind.mask)
    if setting is None:
        return MACHINE.devices
    found: set[int] = set()
    for entry in setting.split(","):
        number = re.match(r"\s*[+-]?\d+", entry)
        index = int(number.group()) if number else -1
        if not 0 <= index < MACHINE.devices or index in found:
            break
        found.add(index)
    return len(found)


def start() -> None:
    """Start the driver, as the first use of a device does; raises a RuntimeError if the process cannot use devices."""
    if MACHINE.is_bad_fork and MACHINE.kind is not MPS:
        key = MACHINE.kind.key
        raise RuntimeError(
            f"Cannot re-initialize {key} in forked subprocess. To use {key} with multiprocessing, you must use the "
            "'spawn' start method"
        )
    if MACHINE.visible is None:
        MACHINE.visible = count()
    if not MACHINE.visible:
        raise RuntimeError(words.NO_DEVICES[MACHINE.kind])
    MACHINE.is_started = True
    _note_started(True)
    MACHINE.used()


def is_available() -> bool:
    """Whether there is a device; the question makes the driver read its environment variable."""
    MACHINE.visible = count()
    return MACHINE.visible > 0


def judge_cpu() -> None:
    """Judge tensors on the CPU, too, from now on: there is something that they do not go with."""
    MACHINE.judges_cpu = True
    MACHINE.used()


def current() -> int:
    """Return the index of the calling thread's current device."""
    return getattr(_thread, "device", 0)


def set_current(index: int) -> None:
    """Make a device the current one of the calling thread; raises a RuntimeError if there is no such device."""
    start()
    check_index(index)
    _thread.device = index


def check_index(index: int) -> None:
    """Raise what the driver raises for the index of a device that is not there; that of MPS takes every index."""
    if index >= count() and MACHINE.kind is not MPS:
        raise words.invalid_ordinal(MACHINE.kind, index, count())


def index_of(device: Any) -> int:
    """Return the index that an argument `device` of a function of `torch.cuda` or its like means."""
    if device is None:
        return current()
    if isinstance(device, int):
        return current() if device < 0 else device
    index = _Device(device).index
    return current() if index is None else index


def resolve(device: Any) -> torch.device:
    """Return the device that an argument means, with its index, after the start of the driver.

    Raises a RuntimeError if there is no such device.
    """
    wanted: torch.device = numbered(device) if isinstance(device, int) else _Device(device)
    if wanted.type == "cpu":
        return CPU
    if wanted.type != MACHINE.name:
        MACHINE.used()
        if wanted.type in ("cuda", "xpu"):  # torch is not built for it, which C++ may have been told otherwise before
            getattr(torch, wanted.type)._lazy_init()
        return wanted
    start()
    index = current() if wanted.index is None or MACHINE.kind is MPS else wanted.index
    check_index(index)
    return numbered(index)


def numbered(index: int) -> torch.device:
    """Return the device of the machine with an index, whether it is there or not."""
    return _Device(MACHINE.name, index)  # type: ignore[no-any-return]


def wrapper(kernel: str) -> str:
    """Return the name of the C++ function in which torchgen's check for a kernel stands; empty if there is no check."""
    return f"wrapper_{MACHINE.kind.key}_{kernel}" if MACHINE.kind is not MPS else ""
