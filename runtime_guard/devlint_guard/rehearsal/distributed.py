"""Process groups: gloo carries what NCCL or XCCL would carry, and takes the tensors that these would take."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA
from devlint_guard.rehearsal.labels import CPU, label
from devlint_guard.rehearsal.machine import MACHINE, count, judge_cpu
from devlint_guard.rehearsal.plans import Operand
from devlint_guard.rehearsal.unjudged import UNJUDGED

_GLOO = frozenset({"cpu", "cuda"})
"""The types of devices that gloo is for (distributed_c10d.Backend.backend_capability)."""

_asked: dict[str, str] = {}
"""By the name of a process group, the backend that the program asked for."""


def install(replaced: Replacements) -> None:
    """Replace the start of process groups, where this build of torch has them."""
    import torch.distributed as distributed

    _asked.clear()
    if not distributed.is_available():
        return
    import torch.distributed.device_mesh as device_mesh

    module: Any = distributed.distributed_c10d
    functions: dict[str, Any] = {
        "init_process_group": _start_group,
        "new_group": _new_group,
        "get_backend": _get_backend,
        "_get_object_coll_device": _device_for_objects,
        "_get_pg_default_device": _device_for_objects,
    }
    for name, function in functions.items():
        if hasattr(module, name):
            replaced.around(module, name, function)
            for owner in (distributed, device_mesh):
                if hasattr(owner, name):
                    replaced.put(owner, name, getattr(module, name))
    for owner in (distributed, module) if MACHINE.kind.backend else ():
        replaced.add(owner, f"is_{MACHINE.kind.backend}_available", lambda: True)
    replaced.around(distributed, "_broadcast_coalesced", _by_device)
    replaced.around(distributed, "_compute_bucket_assignment_by_size", _buckets_by_device)
    replaced.around(device_mesh.DeviceMesh, "__init__", functools.partial(_make_mesh, replaced))


def _make_mesh(replaced: Replacements, make: Any, self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
    """Make a mesh; before the first of devices, random operators of DTensors are prepared."""
    if device_type == MACHINE.name:
        try:
            from torch.distributed.tensor._random import _PhiloxState
        except ImportError:
            UNJUDGED.stop(f"DTensors of {MACHINE.kind.key} devices with this release of torch")
        # The number of drawn numbers, which each rank of DTensors sets: the CPU's state begins with the seed.
        offset = property(lambda state: state._state[:8].view(torch.int64), _set_offset)
        replaced.put(_PhiloxState, "offset", offset)
    make(self, device_type, *args, **kwargs)


def _set_offset(state: Any, offset: Tensor) -> None:
    state._state = torch._C.Generator().manual_seed(int(offset)).get_state()


def uses_own_backend() -> bool:
    """Whether gloo stands for the backend of the devices in a process group."""
    return any(map(_is_own, _asked.values()))


def leave_together() -> None:
    """Wait for the other ranks before this process ends: a rank that is still in a collective needs it.

    A rank that does not come here, since its program is another one, is not waited for long.
    """
    import torch.distributed as distributed

    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() < 2:
        return
    with contextlib.suppress(RuntimeError, ValueError):
        work: Any = distributed.barrier(async_op=True)
        work.wait(_PATIENCE)


_PATIENCE = timedelta(seconds=20)


def end_process(status: int) -> NoReturn:
    """End this process with an exit code.

    Where the program has started process groups, Python is not torn down: a thread of gloo that needs the interpreter
    meanwhile is made to exit by Python, which aborts the process.
    """
    if _asked:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)


def check(operands: Sequence[Operand], args: Sequence[Any]) -> None:
    """Follow ProcessGroup.hpp, getBackend: a collective goes to the backend for the type of its tensors' device."""
    handle = next((one for one in args if isinstance(one, torch.ScriptObject)), None)
    if not operands:
        return
    # A functional collective takes the group's name, as its last argument.
    name: Any = args[-1] if handle is None else torch._C._distributed_c10d.ProcessGroup.unbox(handle).group_name
    kind = operands[0].device.type
    if isinstance(name, str) and kind in MACHINE.types and kind not in _types_of(_asked.get(name, "")):
        words.refuse(f"No backend type associated with device type {kind}")


def _types_of(backend: str) -> frozenset[str]:
    """Return the types of devices that a backend is for; a text such as `cpu:gloo,cuda:nccl` names them."""
    if ":" in backend:
        return frozenset(part.partition(":")[0] for part in backend.split(","))
    return frozenset({MACHINE.name}) if backend == MACHINE.kind.backend else _GLOO


def _is_own(backend: str) -> bool:
    """Whether a program asks for the backend that is for the devices alone."""
    return bool(MACHINE.kind.backend) and MACHINE.kind.backend in backend


def _start_group(start: Any, backend: Any = None, *args: Any, **kwargs: Any) -> None:
    name = str(backend or "").lower()
    if _is_own(name) and MACHINE.kind is CUDA and not count():
        raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
    kwargs.pop("device_id", None)
    judge_cpu()
    start("gloo" if _is_own(name) else backend or "gloo", *args, **kwargs)
    # distributed_c10d.BackendConfig: a group without a named backend has that of the accelerator alone.
    _asked[_name_of(None)] = name or (MACHINE.kind.backend if count() else "") or "gloo"


def _new_group(
    make: Any, ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any
) -> Any:
    name = str(backend or "").lower()
    kwargs.pop("device_id", None)
    made = make(ranks, timeout, "gloo" if _is_own(name) else backend, *args, **kwargs)
    if isinstance(made, torch.distributed.ProcessGroup):
        _asked[made.group_name] = name or _asked.get(_name_of(None), "gloo")
    return made


def _name_of(group: Any) -> str:
    found: Any = group or torch.distributed.group.WORLD
    return str(found.group_name)


def _get_backend(backend_of: Any, group: Any = None) -> Any:
    found = backend_of(group)
    name = _name_of(group)
    return torch.distributed.Backend(_asked[name]) if name in _asked else found


def _device_for_objects(device_of: Any, group: Any = None) -> Any:
    """Return where tensors with pickled objects are made."""
    found = device_of(group)
    if "cpu" in _types_of(_asked.get(_name_of(group), "")):
        return found
    return MACHINE.name if isinstance(found, str) else torch.device(MACHINE.name)


def _by_device(broadcast: Any, group: Any, tensors: Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
    """Join the tensors of each device (torch/csrc/distributed/c10d/comm.cpp)."""
    parts: dict[torch.device, list[Tensor]] = {}
    for one in tensors:
        parts.setdefault(label(one), []).append(one)
    for part in parts.values():
        broadcast(group, part, *args, **kwargs)


def _buckets_by_device(compute: Any, tensors: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
    """Put gradients into buckets, each for one device (torch/csrc/distributed/c10d/reducer.cpp)."""
    buckets, limits = compute(tensors, *args, **kwargs)
    split: list[tuple[list[int], int]] = []
    for bucket, limit in zip(buckets, limits, strict=True):
        parts: dict[torch.device, list[int]] = {}
        for index in bucket:
            parts.setdefault(label(tensors[index]) if index < len(tensors) else CPU, []).append(index)
        split += ((part, limit) for part in parts.values())
    return [part for part, _ in split], [limit for _, limit in split]
