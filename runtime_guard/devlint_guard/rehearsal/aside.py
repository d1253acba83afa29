"""When the mode of a rehearsal is out: until a tensor can be off the CPU, and in long stretches without such a tensor.

What puts a tensor on a device wakes the mode: `machine.resolve`, the start of CUDA, a factory that is told a device.
While the mode is out, a tensor off the CPU has a class that wakes it when a function of PyTorch takes the tensor. Only
the mode of the main thread leaves. Another thread lets the main thread wake it before that goes on.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from devlint_guard.record.recorder import RECORD
from devlint_guard.rehearsal import labels
from devlint_guard.rehearsal.machine import MACHINE
from devlint_guard.watch import scopes
from devlint_guard.watch.all_on_cpu import LONG, all_tensors, at_next_line

_C: Any = torch._C

_PAYS: Final = 500_000
"""A stretch of so many operators is worth a search for tensors of one second."""


class Aside:
    """Whether the mode of the main thread is out.

    Attributes:
        is_out: it is.
        calm: how many operators in turn had no tensor off the CPU.
        limit: how many let it leave.
    """

    def __init__(self) -> None:
        self.is_out = False
        self.calm = 0
        self.limit = sys.maxsize
        self._mode: TorchDispatchMode | None = None
        self._changed: list[tuple[Any, type]] = []

    @contextlib.contextmanager
    def around(self, mode: TorchDispatchMode) -> Iterator[None]:
        """While the main thread runs the body, the mode is in whenever it is needed."""
        self.calm, self.limit, self._mode, self.is_out = 0, LONG, mode, True
        RECORD.resting.append(self.wake)
        MACHINE.used, scopes.before_entry = self.wake, self.wake
        scopes.follow()
        try:
            yield
        finally:
            self.wake()
            scopes.take_out(mode)
            scopes.leave()
            MACHINE.used, scopes.before_entry = bool, bool
            self.limit, self._mode = sys.maxsize, None

    def wake(self) -> bool:
        """Let the mode see operators, if it is out; return whether tensors had another class until now."""
        if not self.is_out:
            return False
        changed, self._changed = self._changed, []
        for tensor, kind in changed:
            tensor.__class__ = kind
        if not is_main_thread():
            ctypes.pythonapi.Py_AddPendingCall(_wake_later, None)
        elif self._mode is not None:
            self.is_out, self.calm = False, 0
            RECORD.resting.remove(self.wake)
            scopes.put_in(self._mode)
        return bool(changed)

    def count(self) -> None:
        """Count an operator whose tensors are on the CPU; after many, the mode leaves at the program's next line."""
        self.calm += 1
        if self.calm > self.limit:
            self.calm = 0
            if is_main_thread() and not MACHINE.judges_cpu:
                at_next_line(self._leave)

    def _leave(self) -> None:
        if self._mode is None or self.is_out or not scopes.are_outside() or _C._len_torch_function_stack():
            return
        began = time.perf_counter()
        found = _off_cpu()
        self.limit = max(LONG, int((time.perf_counter() - began) * _PAYS))
        if found is None:
            return
        self._changed = [(tensor, type(tensor)) for tensor in found]
        for tensor, kind in self._changed:
            tensor.__class__ = _WAKING[kind]
        scopes.take_out(self._mode)
        self.is_out = True
        RECORD.resting.append(self.wake)


ASIDE: Final = Aside()


def is_main_thread() -> bool:
    """Whether this is the thread whose mode leaves."""
    return threading.get_ident() == threading.main_thread().ident


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _wake_later(argument: Any) -> int:
    ASIDE.wake()
    return 0


def _off_cpu() -> list[Any] | None:
    """Return all tensors off the CPU; None if there are others, which a program could use unnoticed."""
    addresses = labels.off_cpu()
    if not addresses:
        return None if addresses is None else []
    found = [one for one in all_tensors() if _C._has_storage(one) and _C._storage_address(one) in addresses]
    is_complete = addresses == {_C._storage_address(one) for one in found} and not gc.get_freeze_count()
    return found if is_complete and all(type(one) in _WAKING for one in found) else None


def _waking(kind: Any) -> Any:
    """Return a class for tensors of a class, under its name."""

    def function(cls: type, func: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None) -> Any:
        if ASIDE.wake():
            return func(*args, **(kwargs or {}))
        with _C.DisableTorchFunctionSubclass():  # it was made with the class that another tensor had
            return func(*args, **(kwargs or {}))

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:  # `type(weight)(data)` in `copy.deepcopy(weight)`
        return kind.__new__(kind, *args, **kwargs)

    members = {"__slots__": (), "__module__": kind.__module__, "__torch_function__": classmethod(function)}
    return type(kind)(kind.__name__, (kind,), {**members, "__new__": new})


_WAKING: Final[dict[type, type]] = {kind: _waking(kind) for kind in (Tensor, nn.Parameter)}
