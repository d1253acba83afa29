"""The pretended machine: its CUDA devices, and what the CUDA runtime would know of this process."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from devlint_guard.rehearsal import words

_Device: Any = torch.device  # PyTorch's own, which is faster than the class that stands for it
CPU = torch.device("cpu")


@dataclass(slots=True)
class Machine:
    """The state of a machine and of its driver.

    Attributes:
        devices: the number of devices that are built in.
        visible: the number of devices that the driver found when it started; None before.
        is_started: something in this process has started CUDA.
        is_bad_fork: this process was forked from one in which CUDA had been started.
        steps: after how many steps of its optimizers a process ends; None for its own end.
        batches: how many batches a loader gives in an epoch; None for all.
        used: is called before a tensor can be off the CPU.
        judges_cpu: an operator may have to refuse tensors that are all on the CPU.
    """

    devices: int = 0
    visible: int | None = None
    is_started: bool = False
    is_bad_fork: bool = False
    steps: int | None = None
    batches: int | None = None
    used: Callable[[], object] = bool
    judges_cpu: bool = False


MACHINE = Machine()

_thread = threading.local()


def after_fork_in_child() -> None:
    """Note that a process was forked; CUDA cannot be used there if it was started before."""
    MACHINE.is_bad_fork = MACHINE.is_bad_fork or MACHINE.is_started
    torch.cuda._initialized = False


def count() -> int:
    """Return the number of devices that the program sees.

    Until the driver starts, `CUDA_VISIBLE_DEVICES` decides anew each time. The driver stops at the first entry that
    names no device (CUDA C++ Programming Guide, "CUDA Environment Variables").
    """
    if MACHINE.visible is not None:
        return MACHINE.visible
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
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
    """Start CUDA, as the first use of a CUDA device does.

    Raises:
        RuntimeError: the process cannot use CUDA, or there is no device.
    """
    if MACHINE.is_bad_fork:
        raise words.started_in_fork()
    if MACHINE.visible is None:
        MACHINE.visible = count()
    if not MACHINE.visible:
        raise words.no_devices()
    MACHINE.is_started = True
    torch.cuda._initialized = True
    MACHINE.used()


def is_available() -> bool:
    """Whether there is a device; the question makes the driver read `CUDA_VISIBLE_DEVICES`."""
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
    """Make a device the current one of the calling thread.

    Raises:
        AcceleratorError: there is no such device.
    """
    start()
    check_index(index)
    _thread.device = index


def check_index(index: int) -> None:
    """Raise what CUDA raises for the index of a device that is not there."""
    if index >= count():
        raise words.invalid_ordinal()


def index_of(device: Any) -> int:
    """Return the index that an argument `device` of a function of `torch.cuda` means."""
    if device is None:
        return current()
    if isinstance(device, int):
        return current() if device < 0 else device
    index = _Device(device).index
    return current() if index is None else index


def resolve(device: Any) -> torch.device:
    """Return the device that an argument means, with its index; the use of a CUDA device starts CUDA.

    Raises:
        AcceleratorError: there is no such device.
    """
    wanted: torch.device = _Device("cuda", device) if isinstance(device, int) else _Device(device)
    if wanted.type == "cpu":
        return CPU
    if wanted.type != "cuda":
        MACHINE.used()
        return wanted
    start()
    index = current() if wanted.index is None else wanted.index
    check_index(index)
    found: torch.device = _Device("cuda", index)
    return found
