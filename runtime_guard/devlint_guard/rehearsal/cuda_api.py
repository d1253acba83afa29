"""What torch.cuda, torch.accelerator and torch.backends say of the pretended machine."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any, Final

import torch

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import generators
from devlint_guard.rehearsal.machine import (
    MACHINE,
    check_index,
    count,
    current,
    index_of,
    is_available,
    set_current,
    start,
)
from devlint_guard.rehearsal.streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream
from devlint_guard.rehearsal.streams import forget as forget_streams

_torch: Any = torch
_C: Any = torch._C
_cuda: Any = torch.cuda

_MEMORY: Final = 80 << 30
_PROPERTIES: Final = types.SimpleNamespace(
    name="Pretended GPU",
    major=9,
    minor=0,
    total_memory=_MEMORY,
    multi_processor_count=132,
    gcnArchName="",
    uuid="pretended",
    warp_size=32,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    L2_cache_size=50 << 20,
    is_integrated=0,
    is_multi_gpu_board=0,
)


def _returns(value: Any) -> Callable[..., Any]:
    def constant(*args: Any, **kwargs: Any) -> Any:
        return value

    return constant


def _own(value: Any) -> Any:
    """Return a function object for one name alone: Dynamo knows torch's functions by identity, one name for each."""
    if not isinstance(value, types.FunctionType):
        return value
    return types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__)


def _set_device(device: Any) -> None:
    index = device if isinstance(device, int) else index_of(device)
    if index >= 0:
        set_current(index)


def _exchange(index: int) -> int:
    if index < 0:
        return -1
    before = current()
    set_current(index)
    return before


def _maybe_exchange(index: int) -> int:
    if index < 0:
        return -1
    before = current()
    if index < count() and MACHINE.is_started:
        set_current(index)
    return before


def _properties(device: Any = None) -> Any:
    start()
    if not 0 <= index_of(device) < count():
        raise AssertionError("Invalid device id")
    return _PROPERTIES


def _synchronize(device: Any = None) -> None:
    start()
    if device is not None:
        check_index(index_of(device))


def install(replaced: Replacements) -> None:
    """Replace the functions that ask a driver or a CUDA build."""
    _install_runtime(replaced)
    _install_memory(replaced)
    _install_streams(replaced)
    _install_random(replaced)
    _install_builds(replaced)
    _install_accelerator(replaced)


def _install_runtime(replaced: Replacements) -> None:
    replaced.put(_cuda, "_initialized", False)  # `machine.start` sets it, and it is put back at the end
    functions: dict[str, Any] = {
        "is_available": is_available,
        "device_count": count,
        "current_device": _current_device,
        "set_device": _set_device,
        "init": start,
        "_lazy_init": start,
        "is_initialized": lambda: MACHINE.is_started and not MACHINE.is_bad_fork,
        "_is_in_bad_fork": lambda: MACHINE.is_bad_fork,
        "get_device_name": lambda device=None: _properties(device).name,
        "get_device_properties": _properties,
        "get_device_capability": lambda device=None: (_properties(device).major, _properties(device).minor),
        "can_device_access_peer": _returns(True),
        "synchronize": _synchronize,
        "is_bf16_supported": _returns(True),
        "ipc_collect": _returns(None),
        "get_arch_list": lambda: ["sm_90"],
        "_exchange_device": _exchange,
        "_maybe_exchange_device": _maybe_exchange,
        "is_current_stream_capturing": _returns(False),
    }
    for name, function in functions.items():
        replaced.put(_cuda, name, _own(function))
    for name, function in {
        "_cuda_getDevice": current,
        "_cuda_setDevice": _set_device,
        "_cuda_exchangeDevice": _exchange,
        "_cuda_maybeExchangeDevice": _maybe_exchange,
        "_cuda_getDeviceCount": count,
        "_cuda_synchronize": _returns(None),
        "_cuda_isCurrentStreamCapturing": _returns(False),
        "_cuda_getCurrentRawStream": _returns(0),
        "_cuda_isInBadFork": lambda: MACHINE.is_bad_fork,
        "_accelerator_setDeviceIndex": _set_device,
        "_accelerator_getDeviceIndex": current,
        "_accelerator_exchangeDevice": _exchange,
        "_accelerator_maybeExchangeDevice": _maybe_exchange,
    }.items():
        replaced.add(_C, name, _own(function))


def _current_device() -> int:
    start()
    return current()


def _install_memory(replaced: Replacements) -> None:
    if not hasattr(_C, "_cuda_CUDAAllocator_AllocatorState"):
        # `torch._dynamo.reset` imports a file that names the type, if CUDA is available; only CUDA graphs use it.
        replaced.add(_C, "_cuda_CUDAAllocator_AllocatorState", object)
    functions: dict[str, Any] = {
        "memory_summary": _returns(""),
        "memory_stats": lambda device=None: {},
        "mem_get_info": _returns((_MEMORY * 7 // 8, _MEMORY)),
        "set_per_process_memory_fraction": _returns(None),
        "empty_cache": _returns(None),
        "reset_peak_memory_stats": _returns(None),
        "reset_accumulated_memory_stats": _returns(None),
        "list_gpu_processes": _returns(""),
    }
    for name in ("memory_allocated", "memory_reserved", "memory_cached"):
        functions |= {name: _returns(0), f"max_{name}": _returns(0)}
    for name in ("memory_allocated", "memory_cached"):
        functions[f"reset_max_{name}"] = _returns(None)
    for name, function in functions.items():
        replaced.put(_cuda, name, _own(function))
        replaced.put(_cuda.memory, name, _own(function))


def _install_streams(replaced: Replacements) -> None:
    for owner in (_cuda, _cuda.streams):
        replaced.put(owner, "Stream", Stream)
        replaced.put(owner, "Event", Event)
    replaced.put(_torch, "Stream", Stream)
    replaced.put(_torch, "Event", Event)
    replaced.put(_cuda, "stream", StreamContext)
    replaced.put(_cuda, "StreamContext", StreamContext)
    replaced.put(_cuda, "current_stream", _own(current_stream))
    replaced.put(_cuda, "default_stream", _own(default_stream))
    replaced.put(_cuda, "set_stream", set_stream)
    forget_streams()
    for name in ("range_push", "range_pop", "mark"):
        replaced.put(_cuda.nvtx, name, _returns(0))
    replaced.put(_cuda.nvtx, "range", lambda *args, **kwargs: contextlib.nullcontext())


def _install_random(replaced: Replacements) -> None:
    default = generators.DEFAULTS

    def seed_current(seed: int) -> None:
        if count():
            default.current.manual_seed(int(seed))

    def seed_all(seed: int) -> None:
        for generator in default:
            generator.manual_seed(int(seed))

    def state_of(device: Any = "cuda") -> torch.Tensor:
        start()
        state: torch.Tensor = default.of(index_of(device)).get_state()
        return state

    def put_state(state: torch.Tensor, device: Any = "cuda") -> None:
        start()
        default.of(index_of(device)).set_state(state)

    def put_states(states: Any) -> None:
        for index, state in enumerate(states):
            put_state(state, index)

    functions: dict[str, Any] = {
        "manual_seed": seed_current,
        "manual_seed_all": seed_all,
        "seed": lambda: seed_current(torch.initial_seed()),
        "seed_all": lambda: seed_all(torch.initial_seed()),
        "initial_seed": lambda: default.current.initial_seed(),
        "get_rng_state": state_of,
        "get_rng_state_all": lambda: [state_of(index) for index in range(count())],
        "set_rng_state": put_state,
        "set_rng_state_all": put_states,
    }
    for name, function in functions.items():
        replaced.put(_cuda, name, _own(function))
        replaced.put(_cuda.random, name, _own(function))
    replaced.put(_cuda, "default_generators", default)
    replaced.put(_torch, "Generator", generators.Generator)


def _install_builds(replaced: Replacements) -> None:
    backends: Any = torch.backends
    replaced.put(backends.cudnn, "is_available", lambda: count() > 0)
    replaced.put(backends.cudnn, "version", _returns(91000))
    replaced.put(backends.cudnn, "is_acceptable", _returns(False))
    replaced.put(backends.cuda, "is_built", _returns(True))
    if _torch.version.cuda is None:
        replaced.put(_torch.version, "cuda", "12.8")
    # Without NCCL, torch.nn.parallel.comm adds with ordinary operators.
    replaced.put(_cuda.nccl, "is_available", _returns(False))


def _install_accelerator(replaced: Replacements) -> None:
    accelerator: Any = getattr(torch, "accelerator", None)  # from 2.6 on
    functions: dict[str, Any] = {
        "is_available": is_available,
        "device_count": count,
        "current_accelerator": lambda check_available=False: (
            None if check_available and not count() else torch.device("cuda")
        ),
        "current_device_index": _current_device,
        "current_device_idx": _current_device,
        "set_device_index": _set_device,
        "set_device_idx": _set_device,
        "synchronize": _synchronize,
        "current_stream": current_stream,
        "set_stream": set_stream,
    }
    for name, function in functions.items():
        if hasattr(accelerator, name):
            replaced.put(accelerator, name, _own(function))
    for name in ("empty_cache", "reset_peak_memory_stats", "reset_accumulated_memory_stats"):
        if hasattr(accelerator, name):
            replaced.put(accelerator, name, _returns(None))
