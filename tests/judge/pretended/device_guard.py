"""Gives torch's C++ core what answers for CUDA: a c10 device guard, and CUDA hooks that say it is there."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import torch

from tests.judge.pretended.machine_code import CodePage, Routines, assemble

_LIBRARIES = Path(torch.__file__).parent / "lib"
_DEVICE_TYPES = 21
_CUDA, _META = 1, 14

_kept_alive: list[object] = []
"""What C++ points into: nothing here may be freed before the process ends."""


def install_device_guard() -> None:
    """Makes C++ believe that CUDA devices exist.

    Raises:
        RuntimeError: torch's libraries are not laid out as in the release this is written for.
    """
    page = CodePage()
    routines = assemble(page)
    _kept_alive.append(page)
    core = ctypes.CDLL(str(_LIBRARIES / "libc10.so"))
    _register_guard(core, routines)
    _replace_hooks(core, page, routines)


def _register_guard(core: ctypes.CDLL, routines: Routines) -> None:
    """Registers a CUDA device guard derived from the do-nothing one of the meta device."""
    registry = (ctypes.c_void_p * _DEVICE_TYPES).in_dll(core, "_ZN3c104impl26device_guard_impl_registryE")
    meta = registry[_META]
    if meta is None or registry[_CUDA] is not None:
        raise RuntimeError("unexpected device guard registry layout")
    # slot numbers: the order of the virtual methods in c10/core/impl/DeviceGuardImplInterface.h
    table = _derived_vtable(
        ctypes.c_void_p.from_address(meta),
        26,
        {
            0: routines.device_type,
            1: routines.exchange_device,
            2: routines.get_device,
            3: routines.exchange_device,  # setDevice
            4: routines.exchange_device,  # uncheckedSetDevice
            5: routines.get_stream,
            6: routines.get_stream,  # getDefaultStream
            7: routines.get_stream,  # getStreamFromGlobalPool
            8: routines.get_stream,  # getNewStream
            9: routines.exchange_stream,
            11: routines.nothing,  # destroyEvent
            12: routines.nothing,  # record
            13: routines.nothing,  # block
            14: routines.true,  # queryEvent
            15: routines.device_count,
            17: routines.true,  # queryStream
            18: routines.nothing,  # synchronizeStream
            19: routines.false,  # isStreamCapturing
            20: routines.nothing,  # synchronizeEvent
            21: routines.nothing,  # synchronizeDevice
            22: routines.nothing,  # recordDataPtrOnStream
        },
    )
    guard = (ctypes.c_void_p * 4)()
    guard[0] = table
    _kept_alive.append(guard)
    register = core["_ZN3c104impl19registerDeviceGuardENS_10DeviceTypeEPKNS0_24DeviceGuardImplInterfaceE"]
    register.argtypes = [ctypes.c_int8, ctypes.c_void_p]
    register.restype = None
    register(_CUDA, ctypes.addressof(guard))


def _replace_hooks(core: ctypes.CDLL, page: CodePage, routines: Routines) -> None:
    """Makes at::hasCUDA() true, so that at::getAccelerator(), which autograd asks, answers CUDA."""
    operators = ctypes.CDLL(str(_LIBRARIES / "libtorch_cpu.so"))
    get_hooks = operators["_ZN2at6detail12getCUDAHooksEv"]
    get_hooks.restype = ctypes.c_void_p
    get_hooks.argtypes = []
    get_cpu_allocator = core["_ZN3c1015GetCPUAllocatorEv"]
    get_cpu_allocator.restype = ctypes.c_void_p
    hooks = ctypes.c_void_p.from_address(get_hooks())
    # slot numbers: ATen/detail/AcceleratorHooksInterface.h, then CUDAHooksInterface.h
    hooks.value = _derived_vtable(
        hooks,
        56,
        {
            2: routines.true,  # isBuilt
            3: routines.true,  # isAvailable
            4: routines.true,  # hasPrimaryContext
            5: routines.nothing,  # init
            6: routines.device_count,
            7: routines.exchange_device_index,  # setCurrentDevice
            8: routines.get_device_index,
            9: routines.exchange_device_index,
            10: routines.exchange_device_index,  # maybeExchangeDevice
            12: page.add_constant(get_cpu_allocator()),  # getPinnedMemoryAllocator
            16: routines.true,  # hasCUDA
        },
    )


def _derived_vtable(instance: ctypes.c_void_p, methods: int, replaced: Mapping[int, int]) -> int:
    """Copies the vtable that `instance` points to, with some slots replaced; returns the copy's address.

    In the Itanium ABI two words, the offset to the top and the type information, precede the first method.
    """
    if instance.value is None:
        raise RuntimeError("an object without a vtable")
    source = (ctypes.c_void_p * (2 + methods)).from_address(instance.value - 16)
    copy = (ctypes.c_void_p * (2 + methods))(*source)
    for slot, routine in replaced.items():
        copy[2 + slot] = routine
    _kept_alive.append(copy)
    return ctypes.addressof(copy) + 16
