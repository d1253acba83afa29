"""The pretended computer: how many CUDA devices it has, which one is current, what its driver has done."""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(slots=True)
class Machine:
    """The state that a real computer and its driver keep.

    Attributes:
        physical: the number of CUDA devices plugged in.
        visible: the number of devices fixed when the driver started; None before that.
        driver_used: a call that starts the driver happened in this process.
        is_bad_fork: this process was forked from one that had used the driver, which CUDA does not survive.
        is_lenient: operators take tensors from several devices.
    """

    physical: int = 0
    visible: int | None = None
    driver_used: bool = False
    is_bad_fork: bool = False
    is_lenient: bool = False


MACHINE = Machine()

device_count_byte = ctypes.c_int8(1)
"""The device count that machine code reads: at least 1, since autograd asks for it even without devices."""


def set_machine(devices: int) -> None:
    """Makes this process see another computer; to be called before the first CUDA call of the process."""
    MACHINE.physical = devices
    MACHINE.visible = None
    MACHINE.driver_used = False
    MACHINE.is_bad_fork = False
    device_count_byte.value = max(1, devices)


def after_fork_in_child() -> None:
    """A forked process inherits a started driver that it cannot use."""
    if MACHINE.driver_used:
        MACHINE.is_bad_fork = True
        cuda: Any = torch.cuda
        cuda._initialized = False


def visible_count() -> int:
    """The devices that CUDA_VISIBLE_DEVICES leaves right now; the driver stops at the first invalid entry."""
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if setting is None:
        return MACHINE.physical
    indices: list[int] = []
    for entry in setting.split(","):
        number = re.match(r"[+-]?\d+", entry.strip())
        if number is None:
            break
        index = int(number.group())
        if not 0 <= index < MACHINE.physical or index in indices:
            break
        indices.append(index)
    return len(indices)


def start_driver() -> int:
    """Starts the driver, which reads CUDA_VISIBLE_DEVICES once; returns the number of devices it found."""
    MACHINE.driver_used = True
    if MACHINE.visible is None:
        MACHINE.visible = visible_count()
    return MACHINE.visible


# The current device belongs to a thread, as in the CUDA runtime. It lives in a pthread key, where machine
# code and Python both reach it.
libc = ctypes.CDLL(None)
libc.pthread_getspecific.restype = ctypes.c_void_p
libc.pthread_getspecific.argtypes = [ctypes.c_uint]
libc.pthread_setspecific.argtypes = [ctypes.c_uint, ctypes.c_void_p]
current_device_key = ctypes.c_uint()
libc.pthread_key_create(ctypes.byref(current_device_key), None)


def current_device() -> int:
    """The index of the calling thread's current CUDA device."""
    return int(libc.pthread_getspecific(current_device_key.value) or 0)


def set_current_device(index: int) -> None:
    """Changes the calling thread's current CUDA device, unchecked."""
    libc.pthread_setspecific(current_device_key.value, int(index))


def device_index(device: Any) -> int:
    """The CUDA index that an argument named `device` means: None and `cuda` mean the current device."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return current_device() if index is None else index


_ASYNCHRONOUS = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the "
    "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


def cuda_error(what: str, hint: str = "") -> Exception:
    """The exception of a failed call of the CUDA runtime."""
    return torch.AcceleratorError(f"CUDA error: {what}\n{hint}{_ASYNCHRONOUS}")


def check_index(index: int | None) -> None:
    """Raises what the CUDA runtime raises for the index of a device that is not there."""
    if index is not None and index >= start_driver():
        raise cuda_error("invalid device ordinal", "GPU device may be out of range, do you have enough GPUs?\n")


def check_fork() -> None:
    """Raises what any CUDA call raises in a process forked after the driver was used."""
    if MACHINE.is_bad_fork:
        raise cuda_error("initialization error")


def check_start() -> None:
    """Raises what the lazy start of CUDA raises in a process forked after the driver was used."""
    if MACHINE.is_bad_fork:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
            "multiprocessing, you must use the 'spawn' start method"
        )
