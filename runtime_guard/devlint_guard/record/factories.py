"""Functions that make tensors, as they are while something records: each notes the user's line."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._guards import TracingContext
from torch.utils._device import _device_constructors

from devlint_guard.program.frames import user_frame
from devlint_guard.program.replacements import Replacements
from devlint_guard.record.recorder import RECORD
from devlint_guard.record.stacks import Entry, Event, can_read

LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
NEW = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")


def install(replaced: Replacements) -> None:
    """Replaces the factories of torch and those of tensors."""
    for module, name in (*constructors(), (torch, "from_numpy")):
        replaced.put_function(module, name, _noting(getattr(module, name), f"torch.{name}"))
    for name in NEW:
        replaced.put(Tensor, name, _noting(getattr(Tensor, name), f"Tensor.{name}"))


def constructors() -> Iterator[tuple[Any, str]]:
    """The module and the name of each function of torch that makes a tensor and can be told a device."""
    known = _device_constructors()
    for module in (torch, torch.fft):
        for name, value in list(vars(module).items()):
            if callable(value) and (value in known or getattr(value, "__wrapped__", None) in known):
                yield module, name
    yield from ((torch, name) for name in LIKE)


# A tracer's tensors are none of the program's, and torch 2.6 frees what refers weakly to their storages once too often.
_tracing = TracingContext.try_get


def _noting(function: Callable[..., Any], by: str) -> Callable[..., Any]:
    created = RECORD.created

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if RECORD.is_listening and _tracing() is None:
            if kwargs.get("device") is not None:
                created(result, by, _source)
            elif not RECORD.is_loop(sys._getframe(1)):
                created(result, by)
        return result

    return made


# --- `device=x.device` --------------------------------------------------------------------------------------


def _source() -> Event | None:
    """The event of the tensor whose `.device` the user's line gives the factory."""
    frame = user_frame(sys._getframe())
    if frame is None or not can_read(frame):
        return None
    path = _path_in(Entry(frame.f_code, frame.f_lasti, frame.f_lineno))
    if not path:
        return None
    value: Any = frame.f_locals.get(path[0], frame.f_globals.get(path[0]))
    for name in path[1:]:
        value = vars(value).get(name) if hasattr(value, "__dict__") else None
    return RECORD.of(value) if isinstance(value, Tensor) else None


@functools.cache
def _path_in(entry: Entry) -> tuple[str, ...]:
    """The names of `x.y` in a call with `device=x.y.device`."""
    call = entry.call
    for one in call.keywords if call is not None else ():
        match one:
            case ast.keyword(arg="device", value=ast.Attribute(attr="device", value=inner)):
                parts: list[str] = []
                while isinstance(inner, ast.Attribute):
                    parts.append(inner.attr)
                    inner = inner.value
                return (inner.id, *parts[::-1]) if isinstance(inner, ast.Name) else ()
    return ()
