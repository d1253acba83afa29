"""The Python side of CUDA: what torch.cuda, torch.accelerator and torch.backends ask of the CUDA runtime."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from tests.judge.pretended import communication
from tests.judge.pretended.generators import DefaultGenerators, Generator
from tests.judge.pretended.machine import (
    MACHINE,
    check_index,
    current_device,
    device_index,
    set_current_device,
    start_driver,
    visible_count,
)
from tests.judge.pretended.streams import Event, GeneralStream, NoContext, Stream, StreamContext, stream_of

_torch: Any = torch
_C: Any = torch._C
_cuda: Any = torch.cuda


def install_python_api() -> None:
    """Replaces the functions that a CPU build lacks, or that would ask a driver."""
    _install_runtime()
    _install_properties()
    _install_memory()
    _install_streams()
    _install_random()
    _install_builds()
    _install_accelerator()


class _Properties:
    """Takes the place of what torch.cuda.get_device_properties returns."""

    name = "Fake H100"
    major, minor = 9, 0
    total_memory = 80 << 30
    multi_processor_count = 132
    gcnArchName = ""  # noqa: N815  (PyTorch's name)
    uuid = "fake"
    warp_size = 32
    max_threads_per_multi_processor = 2048
    regs_per_multiprocessor = 65536
    shared_memory_per_block = 49152
    shared_memory_per_block_optin = 232448
    L2_cache_size = 50 << 20
    is_integrated = 0
    is_multi_gpu_board = 0


def _install_runtime() -> None:
    _C._cuda_getDeviceCount = lambda: 0 if MACHINE.is_bad_fork else start_driver()
    _C._cuda_getDevice = current_device
    _C._cuda_setDevice = _set_device
    _C._cuda_exchangeDevice = _cuda._exchange_device = _exchange_device
    _C._cuda_maybeExchangeDevice = _cuda._maybe_exchange_device = _maybe_exchange_device
    _C._cuda_init = _start
    _C._cuda_isInBadFork = _cuda._is_in_bad_fork = lambda: MACHINE.is_bad_fork
    _C._cuda_synchronize = _returns(None)
    _C._cuda_emptyCache = _returns(None)
    _C._cuda_ipc_collect = _returns(None)
    _C._cuda_sleep = _returns(None)
    _C._cuda_getArchFlags = _returns("sm_90")
    _C._cuda_canDeviceAccessPeer = _returns(True)
    _C._cuda_getCompiledVersion = _returns(12080)
    _C._cuda_getCurrentRawStream = _returns(0)
    _C._cuda_isCurrentStreamCapturing = _returns(False)
    _C._scatter = communication.scatter
    _C._gather = communication.gather
    _C._broadcast = communication.broadcast
    _C._broadcast_coalesced = communication.broadcast_coalesced
    _cuda._cudart = types.SimpleNamespace()
    _cuda._raw_device_count_nvml = lambda: MACHINE.physical
    _cuda._device_count_nvml = visible_count
    _cuda._queued_calls.clear()
    _cuda._check_capability = _cuda._check_cubins = _returns(None)
    _cuda.synchronize = _synchronize


def _install_properties() -> None:
    _cuda.get_device_properties = _properties
    _cuda.get_device_name = lambda device=None: _properties(device).name
    _cuda.get_device_capability = _returns((_Properties.major, _Properties.minor))
    _cuda.is_bf16_supported = _returns(True)


def _install_memory() -> None:
    # Nothing has been allocated where CUDA is not in use, and asking does not start it.
    for name in ("memory_allocated", "memory_reserved", "memory_cached"):
        _set_memory_function(name, _returns(0))
        _set_memory_function(f"max_{name}", _returns(0))
    for name in ("memory_allocated", "memory_cached"):
        _set_memory_function(f"reset_max_{name}", _returns(None))
    for name in ("reset_peak_memory_stats", "reset_accumulated_memory_stats", "empty_cache"):
        _set_memory_function(name, _returns(None))
    _set_memory_function("memory_summary", _returns(""))
    _set_memory_function("memory_stats", lambda *args, **kwargs: {})
    _cuda.mem_get_info = _returns((70 << 30, _Properties.total_memory))
    _cuda.set_per_process_memory_fraction = _returns(None)


def _set_memory_function(name: str, function: Callable[..., Any]) -> None:
    setattr(_cuda, name, function)
    setattr(_cuda.memory, name, function)


def _install_streams() -> None:
    _cuda.Stream = _cuda.streams.Stream = Stream
    _cuda.Event = _cuda.streams.Event = Event
    _cuda.stream = _cuda.StreamContext = StreamContext
    _cuda.current_stream = _cuda.default_stream = stream_of
    _cuda.set_stream = _returns(None)
    _cuda.is_current_stream_capturing = _returns(False)
    _cuda.nvtx.range_push = _cuda.nvtx.range_pop = _returns(0)
    _cuda.nvtx.mark = _returns(None)
    _cuda.nvtx.range = NoContext
    _torch.Stream = _C.Stream = GeneralStream
    _torch.Tensor.record_stream = _returns(None)


def _install_random() -> None:
    def get_rng_state(device: Any = "cuda") -> torch.Tensor:
        return torch.zeros(16, dtype=torch.uint8, device="cpu")

    replaced: dict[str, Callable[..., Any]] = {
        "manual_seed": _returns(None),
        "manual_seed_all": _returns(None),
        "seed": _returns(None),
        "seed_all": _returns(None),
        "initial_seed": _returns(0),
        "get_rng_state": get_rng_state,
        "get_rng_state_all": lambda: [get_rng_state() for _ in range(start_driver())],
        "set_rng_state": _returns(None),
        "set_rng_state_all": _returns(None),
    }
    for name, function in replaced.items():
        setattr(_cuda, name, function)
        setattr(_cuda.random, name, function)
    _cuda.default_generators = DefaultGenerators()
    _torch.Generator = Generator


def _install_builds() -> None:
    """What tells a CUDA build from a CPU build."""
    backends: Any = torch.backends
    backends.cudnn.is_available = lambda: start_driver() > 0
    backends.cudnn.version = _returns(91000)
    backends.cuda.is_built = _returns(True)
    _torch.version.cuda = "12.8"
    _cuda.nccl.is_available = _returns(False)


def _install_accelerator() -> None:
    accelerator: Any = torch.accelerator

    def current_accelerator(check_available: bool = False) -> torch.device | None:
        return None if check_available and start_driver() == 0 else torch.device("cuda")

    def current_device_index() -> int:
        _cuda._lazy_init()
        return current_device()

    def set_device_index(device: Any, /) -> None:
        _set_device(device_index(device))

    accelerator.is_available = lambda: start_driver() > 0
    accelerator.device_count = start_driver
    accelerator.current_accelerator = current_accelerator
    accelerator.current_device_index = accelerator.current_device_idx = current_device_index
    accelerator.set_device_index = accelerator.set_device_idx = set_device_index
    accelerator.device_index = _cuda.device
    accelerator.synchronize = accelerator.empty_cache = accelerator.set_stream = _returns(None)
    accelerator.current_stream = stream_of


def _returns(value: Any) -> Callable[..., Any]:
    """A function that takes anything and returns `value`."""

    def constant(*args: Any, **kwargs: Any) -> Any:
        return value

    return constant


def _start() -> None:
    if start_driver() != 0:
        return
    raise RuntimeError("No CUDA GPUs are available")


def _set_device(index: int) -> None:
    _cuda._lazy_init()
    check_index(index)
    set_current_device(index)


def _exchange_device(index: int) -> int:
    if index < 0:
        return -1
    old = current_device()
    _set_device(index)
    return old


def _maybe_exchange_device(index: int) -> int:
    if index < 0:
        return -1
    old = current_device()
    if index < start_driver():
        set_current_device(index)
    return old


def _properties(device: Any = None) -> _Properties:
    _cuda._lazy_init()
    if not 0 <= device_index(device) < start_driver():
        raise AssertionError("Invalid device id")
    return _Properties()


def _synchronize(device: Any = None) -> None:
    _cuda._lazy_init()
    if device is not None:
        check_index(device_index(device))
