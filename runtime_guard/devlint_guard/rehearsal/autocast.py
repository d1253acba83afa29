"""Autocasting: kernels of the CPU cast the tensors here, but only on a device for which a program wants it.

    with torch.autocast("cuda"):
        x.cuda() @ y.cuda()                     # float16
        x @ y                                   # float32

PyTorch has one list of casting kernels for the CPU, and each tensor of a rehearsal is on the CPU. So a function mode
asks for the labels before each function, and sets what those kernels do. The list for the device, which differs a
little, is not used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.labels import label
from devlint_guard.rehearsal.machine import MACHINE

_C: Any = torch._C
_CASTING: Final = _C.DispatchKeySet(_C.DispatchKey.AutocastCPU)


class _Scopes(threading.local):
    """What the calling thread wants: the type to cast to, for each type of device, in the scopes that it is in."""

    def __init__(self) -> None:
        self.wanted: dict[str, torch.dtype] = {}
        self.outer: list[tuple[dict[str, torch.dtype], bool, torch.dtype]] = []
        self.gate: Any = _Gate()


class _Gate(TorchFunctionMode):
    """On in each thread that is in a scope."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs, wanted = kwargs or {}, _SCOPES.wanted
        kind = MACHINE.name if _is_on_device((*args, *kwargs.values())) else "cpu"
        if wanted and kind not in wanted:
            with _C._ExcludeDispatchKeyGuard(_CASTING):
                return func(*args, **kwargs)
        if wanted and wanted[kind] != torch.get_autocast_dtype("cpu"):
            torch.clear_autocast_cache()
            torch.set_autocast_dtype("cpu", wanted[kind])
        return func(*args, **kwargs)


_SCOPES = _Scopes()


def install(replaced: Replacements) -> None:
    """Replace how scopes of autocasting begin and end."""
    replaced.around(torch.amp.autocast_mode.autocast, "__enter__", _enter)
    replaced.around(torch.amp.autocast_mode.autocast, "__exit__", _leave)


def _enter(enter: Callable[..., Any], self: Any) -> Any:
    if self.device not in MACHINE.types or torch._jit_internal.is_scripting():
        return enter(self)
    if not _SCOPES.outer:
        _SCOPES.gate.__enter__()
    _SCOPES.outer.append((_SCOPES.wanted, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
    result = enter(self)
    wanted = {kind: dtype for kind, dtype in _SCOPES.wanted.items() if kind != self.device}
    _SCOPES.wanted = wanted | ({self.device: self.fast_dtype} if self._enabled else {})
    torch.set_autocast_enabled("cpu", bool(_SCOPES.wanted))
    return result


def _leave(leave: Callable[..., Any], self: Any, *exc_info: Any) -> Any:
    result = leave(self, *exc_info)
    if self.device in MACHINE.types and _SCOPES.outer and not torch._jit_internal.is_scripting():
        _SCOPES.wanted, is_enabled, dtype = _SCOPES.outer.pop()
        torch.set_autocast_enabled("cpu", is_enabled)
        torch.set_autocast_dtype("cpu", dtype)
        if not _SCOPES.outer:
            _SCOPES.gate.__exit__(None, None, None)
    return result


def _is_on_device(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if label(value).type == MACHINE.name:
                return True
        elif isinstance(value, (list, tuple)) and _is_on_device(value):
            return True
    return False
