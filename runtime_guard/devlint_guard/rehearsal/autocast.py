"""Autocasting: kernels of the CPU cast the tensors here, but only those of the device for which a program wants it.

    with torch.autocast("cuda"):
        x.cuda() @ y.cuda()                     # float16
        x @ y                                   # float32

PyTorch has one list of casting kernels for the CPU, and each tensor of a rehearsal is on the CPU. So each kernel of the
list is replaced by a gate that asks for the labels first. The list for CUDA, which is a little longer, is not used.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch import Tensor

from devlint_guard.rehearsal.labels import label
from devlint_guard.rehearsal.replacements import Replacements

_C: Any = torch._C
_KEY: Final = "AutocastCPU"


class _Scopes(threading.local):
    """What the calling thread wants: the type to cast to, for each type of device, in the scopes that it is in."""

    def __init__(self) -> None:
        self.wanted: dict[str, torch.dtype] = {}
        self.outer: list[tuple[dict[str, torch.dtype], bool, torch.dtype]] = []


_SCOPES = _Scopes()
_gates: list[Any] = []
_installing = threading.Lock()


def install(replaced: Replacements) -> None:
    """Replace how scopes of autocasting begin and end."""
    autocast: Any = torch.amp.autocast_mode.autocast
    enter, leave = autocast.__enter__, autocast.__exit__

    def __enter__(self: Any) -> Any:  # noqa: N807
        if self.device not in ("cpu", "cuda") or torch._jit_internal.is_scripting():
            return enter(self)
        _install_gates()
        _SCOPES.outer.append((_SCOPES.wanted, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
        result = enter(self)
        wanted = {kind: dtype for kind, dtype in _SCOPES.wanted.items() if kind != self.device}
        _SCOPES.wanted = wanted | ({self.device: self.fast_dtype} if self._enabled else {})
        torch.set_autocast_enabled("cpu", bool(_SCOPES.wanted))
        return result

    def __exit__(self: Any, *exc_info: Any) -> Any:  # noqa: N807
        result = leave(self, *exc_info)
        if self.device in ("cpu", "cuda") and _SCOPES.outer and not torch._jit_internal.is_scripting():
            _SCOPES.wanted, is_enabled, dtype = _SCOPES.outer.pop()
            torch.set_autocast_enabled("cpu", is_enabled)
            torch.set_autocast_dtype("cpu", dtype)
        return result

    replaced.put(autocast, "__enter__", __enter__)
    replaced.put(autocast, "__exit__", __exit__)


def forget() -> None:
    """Put the kernels of PyTorch back."""
    while _gates:
        _gates.pop()._destroy()


def _install_gates() -> None:
    """Put a gate before each casting kernel; this takes some milliseconds, and only programs that autocast need it.

    The replicas of `DataParallel` begin to autocast at the same time, each in its thread: one installs, others wait.
    """
    if _gates:
        return
    with _installing:
        if not _gates:
            _gates.append(_new_gates())


def _new_gates() -> Any:
    gates: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that a kernel is replaced
        for name in _C._dispatch_get_all_op_names():
            if name.startswith("aten::") and _C._dispatch_has_kernel_for_dispatch_key(name, _KEY):
                gates.impl(name.removeprefix("aten::"), _gate(name), _KEY, with_keyset=True)
    return gates


def _gate(name: str) -> Callable[..., Any]:
    kernel: Any = torch.library.get_kernel(name, _KEY)
    base, _, overload = name.removeprefix("aten::").partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")
    without = _C.DispatchKeySet(getattr(_C.DispatchKey, _KEY))

    def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = _SCOPES.wanted
        kind = "cuda" if _is_on_device(args) else "cpu"
        if wanted and kind not in wanted:
            with _C._ExcludeDispatchKeyGuard(without):
                return operator(*args, **kwargs)
        if wanted and wanted[kind] != torch.get_autocast_dtype("cpu"):
            torch.clear_autocast_cache()
            torch.set_autocast_dtype("cpu", wanted[kind])
        return kernel.call_boxed(keys, *args, **kwargs)

    return run


def _is_on_device(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if label(value).type == "cuda":
                return True
        elif isinstance(value, (list, tuple)) and _is_on_device(value):
            return True
    return False
