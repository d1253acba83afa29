"""The active guards of all threads, with their shared parts: the fast path, and hooks around optimizers.

What the fast path notices belongs to one guard: the innermost that was given the module, else the innermost of the
thread, else the innermost.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Container, Mapping
from types import FrameType
from typing import Any, NamedTuple, Protocol

from torch._C._dynamo import eval_frame
from torch.compiler import is_dynamo_compiling
from torch.nn import Module
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from devlint_guard.program.naming import Roots, paths_of_modules
from devlint_guard.program.uncompiled import uncompiled
from devlint_guard.program.undisturbed import Undisturbed
from devlint_guard.requirement import FULL, is_full
from devlint_guard.watch import interpose
from devlint_guard.watch.entry import COMPARED, Mismatch, may_be_certain
from devlint_guard.watch.steps import SPACING, Steps


class _Receiver(Protocol):
    """What a guard is to this file; `session` says what each of these does."""

    strict: bool
    steps: Steps
    has_stepped_back: bool

    @property
    def known(self) -> Container[int]: ...
    @property
    def counts_calls(self) -> bool: ...
    @property
    def looks_at_optimizers(self) -> bool: ...
    def mismatched(self, mismatch: Mismatch, frame: FrameType, roots: Roots) -> None: ...
    def refused(self, error: Exception, mismatch: Mismatch, frame: FrameType, roots: Roots) -> None: ...
    def failed(self, error: Exception, module: Module, roots: Roots) -> bool: ...
    def suspected(self, mismatch: Mismatch, frame: FrameType, roots: Roots) -> None: ...
    def module_called(self, module: Module, frame: FrameType) -> None: ...
    def optimizer_steps(self, optimizer: Optimizer, is_alone: bool, roots: Roots) -> None: ...
    def optimizer_stepped(self) -> None: ...
    def step_back(self, error: Exception) -> None: ...
    def stop(self, reason: str) -> None: ...


class Entry(NamedTuple):
    """One entry of a guard, which may be entered several times.

    Attributes:
        modules: those that it was given.
        roots: the same by their names, which are looked up when they are asked for.
    """

    receiver: _Receiver
    thread: int
    modules: tuple[Module, ...]
    roots: Roots

    def owns(self, module: Module) -> bool:
        """Whether the guard was given a module, or one that holds it."""
        return any(one is module for root in self.modules for _, one in paths_of_modules(root, ""))


class _EveryClass:
    def __contains__(self, item: object) -> bool:
        return True


_EVERY_CLASS = _EveryClass()
_lock = threading.RLock()
_entries: tuple[Entry, ...] = ()
_receivers: tuple[tuple[_Receiver, Roots], ...] = ()
"""Each active guard once, with the roots of its latest entry."""
_looking: tuple[tuple[_Receiver, Roots], ...] = ()
"""Those of them that look at optimizers."""
_settled: tuple[tuple[Steps, Container[int]], ...] = ()
"""The steps of the others, which are only counted, and the modules that may rest in most of them."""
_hooks: list[Callable[[], None]] = []
_reason = f"beside compiled code it needs torch {FULL[0]}.{FULL[1]} or newer"


def add(entry: Entry) -> None:
    """Makes a guard active."""
    global _entries
    with _lock:
        _entries = (*_entries, entry)
        if not _hooks:
            _hooks.append(register_optimizer_step_pre_hook(_before_step).remove)
            _hooks.append(register_optimizer_step_post_hook(_after_step).remove)
            if not is_full():
                _hooks.append(_tell_of_compiled(_stop))
        refresh()


def remove(receiver: _Receiver) -> Entry:
    """Ends the latest entry of a guard, that of this thread before those of others."""
    global _entries
    with _lock:
        thread = threading.get_ident()
        _, index = max((one.thread == thread, index) for index, one in enumerate(_entries) if one.receiver is receiver)
        ended = _entries[index]
        _entries = _entries[:index] + _entries[index + 1 :]
        if not _entries:
            while _hooks:
                _hooks.pop()()
        refresh()
        return ended


def _stop() -> None:
    """Compiled code is about to run, beside which this release of torch lets no guard look on; tells so once."""
    global _reason
    for receiver, _ in _receivers:
        receiver.stop(_reason)
        _reason = ""


def refresh() -> None:
    """Puts in place the fast path that the active guards need, or none, and tells optimizers only those who ask."""
    global _receivers, _looking, _settled
    with _lock:
        _receivers = tuple({id(one.receiver): (one.receiver, one.roots) for one in _entries}.values())
        receivers = [one for one in _receivers if not one[0].has_stepped_back]
        _looking = tuple(one for one in receivers if one[0].looks_at_optimizers)
        settled = [one for one, _ in receivers if not one.looks_at_optimizers]
        # What one guard knows, another may not have seen.
        _settled = tuple((one.steps, one.known if len(_receivers) == 1 else frozenset()) for one in settled)
        if not receivers:
            interpose.uninstall()
            return
        compared: Container[type] = _EVERY_CLASS if any(one.strict for one, _ in receivers) else COMPARED
        counting = any(one.counts_calls for one, _ in receivers)
        with_rests = any(known for _, known in _settled)
        interpose.install(_LISTENER, compared, counting=counting, with_rests=with_rests)


class _Listener:
    def entered(self, module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> interpose.Runner | None:
        """Of a module whose tensors may be apart, what makes the call; None to let the fast path make it."""
        entry = responsible(module)
        if entry is None:
            return None
        with Undisturbed(entry.receiver.step_back):
            may_matter = entry.receiver.strict or may_be_certain(module)
            mismatch = Mismatch.of(module, args, kwargs) if may_matter else None
            if mismatch is not None and (mismatch.certain or entry.receiver.strict):
                return functools.partial(_run, entry, mismatch, args, kwargs)
        return None

    def failed(self, module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> None:
        # what goes wrong here must not hide the error of the program
        with Undisturbed(None):
            entry = responsible(module)
            if entry is not None and entry.receiver.failed(error, module, entry.roots):
                mismatch = Mismatch.of(module, args, kwargs)
                if mismatch is not None:
                    entry.receiver.suspected(mismatch, sys._getframe(1), entry.roots)

    def called(self, module: Module) -> None:
        for receiver, _ in _receivers:
            if not receiver.has_stepped_back:
                with Undisturbed(receiver.step_back):
                    receiver.module_called(module, sys._getframe(1))


@uncompiled
def _run(
    entry: Entry, mismatch: Mismatch, args: tuple[Any, ...], kwargs: Mapping[str, Any], call: interpose.Call
) -> Any:
    """Makes a call with what does not go together: PyTorch's own error comes first, the guard's if there is none."""
    awaited = _awaited.modules = (*awaited_modules(), mismatch.module)
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        with Undisturbed(None):
            entry.receiver.refused(error, mismatch, sys._getframe(), entry.roots)
        raise
    finally:
        _awaited.modules = awaited[:-1]
    with Undisturbed(entry.receiver.step_back):
        entry.receiver.mismatched(mismatch, sys._getframe(), entry.roots)
    return result


_awaited = threading.local()


def awaited_modules() -> tuple[Module, ...]:
    """The modules that this thread is calling with what does not go together; a guard is told when they return."""
    modules: tuple[Module, ...] = getattr(_awaited, "modules", ())
    return modules


_LISTENER = _Listener()


def responsible(module: Module | None) -> Entry | None:
    """The entry for observations about a module, or for those outside of any module."""
    entries = [one for one in reversed(_entries) if not one.receiver.has_stepped_back]
    if len(entries) == 1:
        return entries[0]
    thread = threading.get_ident()
    owners = (entry for entry in entries if module is not None and entry.owns(module))
    own = (entry for entry in entries if entry.thread == thread)
    return next(owners, None) or next(own, None) or next(iter(entries), None)


# Dynamo traces these as part of a compiled step, and must find nothing that changes; compiled steps do not count.
# They run once a step, when the step itself has emptied the processor's caches of them: each call counts many times.


@uncompiled
def _before_step(optimizer: Optimizer, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    if is_dynamo_compiling():
        return
    for receiver, roots in _looking:
        with Undisturbed(receiver.step_back):
            is_alone = len(args) == 1 and not kwargs  # the first one is the optimizer
            receiver.optimizer_steps(optimizer, is_alone, roots)


@uncompiled
def _after_step(optimizer: Optimizer, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    if is_dynamo_compiling():
        return
    for steps, known in _settled:
        steps.number += 1
        interpose.resting.modules = known if steps.number % SPACING else frozenset()
    for receiver, _ in _looking:
        with Undisturbed(receiver.step_back):
            receiver.optimizer_stepped()


# --- compiled code, beside which older releases of torch let no guard look on -------------------------------

_set: Callable[[Any], Any] = eval_frame.set_eval_frame


def _tell_of_compiled(begins: Callable[[], object]) -> Callable[[], None]:
    """Calls a function once, before compiled code next runs in any thread; returns what ends that.

    All of them hand a frame to Dynamo by one function, which is called whenever compiled code begins or ends.
    """

    def told(callback: Any) -> Any:
        if callable(callback):  # with None and False, Dynamo compiles nothing
            end()
            begins()
        return _set(callback)

    def end() -> None:
        _put_setter(told, _set)

    _put_setter(_set, told)
    return end


def _put_setter(before: object, after: object) -> None:
    for module in (eval_frame, sys.modules.get("torch._dynamo.eval_frame")):
        for name in [name for name, value in vars(module).items() if value is before] if module else ():
            setattr(module, name, after)
