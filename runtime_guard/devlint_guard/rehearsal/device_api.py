"""What torch.cuda or torch.xpu, torch.accelerator and torch.backends say of the pretended machine."""

from __future__ import annotations

import contextlib
import itertools
import threading
import types
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import torch

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import generators, machine, mps
from devlint_guard.rehearsal.kinds import CUDA, MPS
from devlint_guard.rehearsal.labels import memory_on
from devlint_guard.rehearsal.machine import MACHINE, check_index, count, current, index_of, numbered, set_current, start

_torch: Any = torch
_C: Any = torch._C
_cuda: Any = torch.cuda

_MEMORY: Final = 80 << 30
_FREE_AND_ALL: Final = (_MEMORY * 7 // 8, _MEMORY)
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
    has_fp16=True,
    has_fp64=True,
    has_bfloat16_conversions=True,
    has_subgroup_matrix_multiply_accumulate=True,
)


def _returns(value: Any) -> Callable[..., Any]:
    def constant(*args: Any, **kwargs: Any) -> Any:
        return value

    return constant


_done = _returns(None)


def _own(value: Any) -> Any:
    """Return a function object for one name alone: Dynamo knows torch's functions by identity, one name for each."""
    if not isinstance(value, types.FunctionType):
        return value
    return types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__)


def _set_device(index: int) -> None:
    if index >= 0:
        set_current(index)


def _exchange(index: int) -> int:
    if index < 0:
        return -1
    before = current()
    set_current(index)
    return before


def _maybe_exchange(index: int) -> int:
    is_possible = index < count() and (MACHINE.is_started or index < 0)
    return _exchange(index) if is_possible else current()


def _current_device() -> int:
    start()
    return current()


def _properties(index: int) -> Any:
    check_index(index)
    return _PROPERTIES


_peaks: dict[int, int] = {}
"""The most bytes on each device that somebody has asked for."""


def _statistics(index: int) -> dict[str, Any]:
    found = memory_on(numbered(index))
    _peaks[index] = max(found, _peaks.get(index, 0))
    figures = {"all": {"current": found, "peak": _peaks[index]}}
    return {"allocated_bytes": figures, "reserved_bytes": figures}


def _forget_peaks(index: Any = None) -> None:
    _peaks.clear()


def _synchronize(index: int = 0) -> None:
    start()
    check_index(index)


# --- streams and events: all work is done at once, so they remember their device, and which stream is current ---

_numbers = itertools.count(1)


class _Current(threading.local):
    """The streams that the calling thread has chosen, by the index of their device."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}


_CURRENT = _Current()


class _Work:
    """What can be waited for: everything is done."""

    def _at_once(self, *other: Any) -> None:
        pass

    wait = wait_stream = wait_event = synchronize = _at_once

    def query(self) -> bool:
        """Say that the work is done."""
        return True


class Event(_Work):
    """Stands for `torch.Event`, `torch.cuda.Event` and its like."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device: torch.device | None = None

    def record(self, stream: Any = None) -> None:
        """Remember the device of the stream."""
        self.device = numbered(current() if stream is None else stream.device_index)

    def elapsed_time(self, other: Any) -> float:
        """Return a made-up time in milliseconds; it is positive, so that a program may divide by it."""
        return 0.1


class Stream(_Work):
    """Stands for `torch.Stream`, `torch.cuda.Stream` and its like."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device_index = index_of(device)
        check_index(self.device_index)
        self.priority = priority
        self.stream_id = self.cuda_stream = kwargs.get("stream_id", next(_numbers))
        self._outer: list[tuple[int, Stream]] = []

    @property
    def device_type(self) -> int:
        """The number of the type of its device."""
        return MACHINE.kind.number

    @property
    def device(self) -> torch.device:
        """The device of the stream."""
        return numbered(self.device_index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event that is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        """Say that no graph is being captured."""
        return False

    def __enter__(self) -> Stream:
        self._outer.append((current(), current_stream(self.device_index)))
        set_stream(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        index, before = self._outer.pop()
        set_stream(before)
        set_current(index)


def default_stream(device: Any = None) -> Stream:
    """Return the stream of a device that is used where no other was chosen."""
    return Stream(index_of(device), stream_id=0)


def current_stream(device: Any = None) -> Stream:
    """Return the stream that the calling thread uses on a device."""
    return _CURRENT.streams.get(index_of(device)) or default_stream(device)


def set_stream(stream: Stream | None) -> None:
    """Make a stream the current one of its device, and the device the current one."""
    if stream is not None:
        set_current(stream.device_index)
        _CURRENT.streams[stream.device_index] = stream


def install(replaced: Replacements) -> None:
    """Replace the functions that ask a driver or a build for the devices."""
    replaced.put(_torch, "Stream", Stream)
    replaced.put(_torch, "Event", Event)
    replaced.put(_torch, "Generator", generators.Generator)
    _CURRENT.streams.clear()
    _peaks.clear()
    if MACHINE.kind is MPS:
        mps.install(replaced)
    else:
        module = getattr(_torch, MACHINE.name)
        _install_runtime(replaced, module)
        _install_random(replaced, module)
    if MACHINE.kind is CUDA:
        _install_builds(replaced)
    else:
        _install_no_cuda(replaced)
    _install_accelerator(replaced)


def _put(replaced: Replacements, owners: Iterable[Any], functions: Mapping[str, Any]) -> None:
    """Replace those of the functions that a module has."""
    for owner in owners:
        for name, function in functions.items():
            if hasattr(owner, name):
                replaced.put(owner, name, _own(function))


def _install_runtime(replaced: Replacements, module: Any) -> None:
    """Replace what the module's own functions call in C++, and what they decide by themselves."""
    replaced.put(module, "_initialized", False)  # `machine.start` sets it, and it is put back at the end
    replaced.add(module, "_get_device_properties", _properties)
    if MACHINE.kind is CUDA and not hasattr(_C, "_cuda_CUDAAllocator_AllocatorState"):
        # `torch._dynamo.reset` imports a file that names the type, if CUDA is available; only CUDA graphs use it.
        replaced.add(_C, "_cuda_CUDAAllocator_AllocatorState", object)
    for name, function in {
        "getDevice": current,
        "setDevice": _set_device,
        "exchangeDevice": _exchange,
        "maybeExchangeDevice": _maybe_exchange,
        "getDeviceCount": count,
        "canDeviceAccessPeer": _returns(True),
        "synchronize": _synchronize,
        "isCurrentStreamCapturing": _returns(False),
        "getCurrentRawStream": _returns(0),
        "isInBadFork": lambda: MACHINE.is_bad_fork,
        "getArchFlags": _returns("sm_90"),
        "memoryStats": _statistics,
        "resetPeakMemoryStats": _forget_peaks,
        **dict.fromkeys(("ipc_collect", "resetAccumulatedMemoryStats", "setMemoryFraction", "emptyCache"), _done),
    }.items():
        replaced.add(_C, f"_{MACHINE.name}_{name}", _own(function))
    functions: dict[str, Any] = {
        "_is_compiled": _returns(True),
        "is_available": machine.is_available,
        "device_count": count,
        "_lazy_init": start,
        "_is_in_bad_fork": lambda: MACHINE.is_bad_fork,
        "_exchange_device": _exchange,
        "_maybe_exchange_device": _maybe_exchange,
        "is_current_stream_capturing": _returns(False),
        "mem_get_info": _returns(_FREE_AND_ALL),
        **dict.fromkeys(("memory_summary", "list_gpu_processes"), _returns("")),
        **{one.__name__: one for one in (Stream, Event, current_stream, default_stream, set_stream)},
    }
    memory = [module.memory] if hasattr(module, "memory") else []  # XPU has none before torch 2.6
    _put(replaced, (module, *memory, module.random, module.streams), functions)
    bases = getattr(_torch, "_streambase", None)
    for name, kind in (("_StreamBase", Stream), ("_EventBase", Event)):
        if isinstance(getattr(bases, name, None), ABCMeta):  # torch 2.4, where Dynamo knows classes of streams by them
            getattr(bases, name).register(kind)


def _install_random(replaced: Replacements, module: Any) -> None:
    default = generators.DEFAULTS

    def seed_current(seed: int) -> None:
        if count():
            default.of(current()).manual_seed(int(seed))

    def seed_all(seed: int) -> None:
        for generator in default:
            generator.manual_seed(int(seed))

    def state_of(device: Any = None) -> torch.Tensor:
        start()
        state: torch.Tensor = default.of(index_of(device)).get_state()
        return state

    def put_state(state: torch.Tensor, device: Any = None) -> None:
        start()
        default.of(index_of(device)).set_state(state)

    functions: dict[str, Any] = {
        "manual_seed": seed_current,
        "manual_seed_all": seed_all,
        "seed": lambda: seed_current(torch.initial_seed()),
        "seed_all": lambda: seed_all(torch.initial_seed()),
        "initial_seed": lambda: default.of(current()).initial_seed(),
        "get_rng_state": state_of,
        "set_rng_state": put_state,
    }
    _put(replaced, (module, module.random), functions)
    replaced.put(module, "default_generators", default)


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
    replaced.put(_cuda.nccl, "version", _returns((2, 27, 5)))
    for name in ("range_push", "range_pop", "mark"):
        replaced.put(_cuda.nvtx, name, _returns(0))
    replaced.put(_cuda.nvtx, "range", lambda *args, **kwargs: contextlib.nullcontext())


def _install_no_cuda(replaced: Replacements) -> None:
    """Make a build of torch with CUDA one without, which a build for the CPU is."""

    def refuse(*args: Any) -> None:
        raise AssertionError("Torch not compiled with CUDA enabled")

    if torch.version.cuda is not None:
        functions = {"is_available": _returns(False), "device_count": _returns(0), "init": refuse, "_lazy_init": refuse}
        _put(replaced, [_cuda], functions)
        replaced.put(torch.backends.cuda, "is_built", _returns(False))
        replaced.put(torch.version, "cuda", None)


def _install_accelerator(replaced: Replacements) -> None:
    replaced.add(_C, "_get_accelerator", lambda check=None: torch.device(MACHINE.name if count() else "cpu"))
    for name, function in {
        "getAccelerator": lambda: torch.device(MACHINE.name),
        "deviceCount": count,
        "setDeviceIndex": _set_device,
        "getDeviceIndex": _current_device,
        "exchangeDevice": _exchange,
        "maybeExchangeDevice": _maybe_exchange,
        "synchronizeDevice": _synchronize,
        "getStream": current_stream,
        "setStream": set_stream,
        "isAllocatorInitialized": _returns(True),
        "getDeviceStats": _statistics,
        "getMemoryInfo": _returns(_FREE_AND_ALL),
        "resetPeakStats": _forget_peaks,
        **dict.fromkeys(("emptyCache", "emptyHostCache", "resetAccumulatedStats"), _done),
    }.items():
        replaced.add(_C, f"_accelerator_{name}", _own(function))
