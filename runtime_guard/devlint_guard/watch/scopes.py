"""Where in the program's nest of scopes a thread is: which dispatch modes may be put in or taken out there.

PyTorch dispatches to modes while two keys are in a set that each thread has. The first mode of a thread puts them in,
the last one takes them out. `torch.inference_mode` remembers that set on entry and puts all of it back on exit, and the
modes it leaves alone (c10/core/InferenceMode.h). So a mode that is taken out inside it would leave the keys without a
mode, which PyTorch refuses with an internal error at the next operator; one that is put in would stay without keys, and
keep those of the program that come later from working. Here each exit is followed by a look at whether the two agree.

Other scopes of this kind, such as the levels of `torch.func` and the nodes of a backward pass, are short: in them no
mode is moved at all.
"""

from __future__ import annotations

import functools
import itertools
import operator
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import inference_mode
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from devlint_guard.program.replacements import Replacements
from devlint_guard.program.uncompiled import uncompiled

_KEYS = ("PythonTLSSnapshot", "Python")
_is_included = torch._C._dispatch_tls_is_dispatch_key_included
_set_included = torch._C._dispatch_tls_set_dispatch_key_included

State = tuple[Any, Any]
"""The dispatch keys that a thread includes and excludes, but for those that are set one by one."""

_keys = torch._C.DispatchKey.__members__.items()
_own = (torch._C.DispatchKeySet(key) for name, key in _keys if name in _KEYS or name.startswith("Autocast"))
_CHANGING: Any = functools.reduce(operator.or_, _own)
"""The keys of modes and of autocast, which sets and restores each for itself."""
_comparable: Any = getattr(torch._C.DispatchKeySet, "raw_repr", repr)  # the method begins with torch 2.5


def _state() -> State:
    included, excluded = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    return _comparable(included - _CHANGING), _comparable(excluded - _CHANGING)


class _Thread(threading.local):
    """The known scopes of one thread, which was asked to follow them by some users.

    Attributes:
        outside: its keys outside of the scopes in `open`; None if it has not been looked at.
        open: the scopes that it has entered since, by identity, with the keys inside.
    """

    outside: State | None = None
    users = 0

    def __init__(self) -> None:
        self.open: dict[int, State] = {}


_here = _Thread()
_users = 0
_open = 0
"""How many scopes are open in all threads."""
lock = threading.RLock()
before_entry: Callable[[], object] = bool
"""Is called before a thread enters a scope."""
moved: weakref.WeakKeyDictionary[TorchDispatchMode, None] = weakref.WeakKeyDictionary()
"""The modes of all threads that `take_out` is to end, in the order of their entry."""
_replaced = Replacements(is_shared=True)
_enter = inference_mode.__enter__
_exit = inference_mode.__exit__


@uncompiled
@functools.wraps(_enter)
def _entered(self: inference_mode) -> None:
    global _open
    before_entry()
    _enter(self)
    with lock:
        _open += id(self) not in _here.open
    _here.open[id(self)] = _state()


@uncompiled
@functools.wraps(_exit)
def _exited(self: inference_mode, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    global _open
    _exit(self, exc_type, exc_value, traceback)
    if _here.open.pop(id(self), None) is None:
        _here.outside = _state()  # it was entered before anybody followed
    else:
        with lock:
            _open -= 1
            _restore()
    # The scope has put back the keys of its entry: now those of modes have to agree with the modes.
    is_needed = torch._C._len_torch_dispatch_stack() > 0
    if is_needed is not _is_included("Python") and (not is_needed or has_only_moved_modes()):
        for key in _KEYS:
            _set_included(key, is_needed)


def follow() -> None:
    """Follows scopes from now on, until `leave` is called as often."""
    global _users
    with lock:
        _users += 1
        if inference_mode.__enter__ is _enter and inference_mode.__exit__ is _exit:
            _replaced.put(inference_mode, "__enter__", _entered)
            _replaced.put(inference_mode, "__exit__", _exited)
        if _here.users == 0 and not _here.open:
            _here.outside = _state()
        _here.users += 1


def leave() -> None:
    """Follows scopes no more, once those that are open have ended."""
    global _users
    with lock:
        _users -= 1
        _here.users = max(_here.users - 1, 0)
        _restore()


def _restore() -> None:
    if not _users and not _open:
        _replaced.undo()


def are_known() -> bool:
    """Whether modes can be moved here: all scopes that this thread has entered since `follow` are followed."""
    expected = next(reversed(_here.open.values()), _here.outside)
    return torch._C._current_graph_task_id() == -1 and expected == _state() and inference_mode.__exit__ is _exited


def are_outside() -> bool:
    """Whether modes can be moved here, and this thread is in no scope that it has entered since `follow`."""
    return not _here.open and are_known()


def stack() -> list[TorchDispatchMode]:
    """The modes of this thread, the innermost last."""
    return [torch._C._get_dispatch_stack_at(index) for index in range(torch._C._len_torch_dispatch_stack())]


def has_only_moved_modes() -> bool:
    """Whether this thread has modes, and all of them are of the kind that is moved: they have an `is_moved`."""
    modes = stack()
    return bool(modes) and all(getattr(one, "is_moved", False) for one in modes)


class NoModes:
    """A context in which this thread dispatches to no mode, though there are some. Not where scopes begin or end."""

    def __enter__(self) -> None:
        self._were_included = [_is_included(key) for key in _KEYS]
        for key in _KEYS:
            _set_included(key, False)

    def __exit__(self, *exception: object) -> None:
        for key, was_included in zip(_KEYS, self._were_included, strict=True):
            _set_included(key, was_included)


def take_out(mode: TorchDispatchMode) -> None:
    """Ends a mode that may lie below others.

    On entry each mode notes flags of the process as it found them, to restore them on exit. The one that was entered
    next, in any thread, found them as our mode had set them, and now has to restore what ours had found.
    """
    above: list[TorchDispatchMode] = []
    while (top := _python_dispatch._pop_mode()) is not mode:
        above.append(top)
    _python_dispatch._push_mode(mode)
    with lock:
        _exchange_flags(mode, above[-1:] or [*itertools.dropwhile(lambda one: one is not mode, [*moved])][1:2])
        moved.pop(mode, None)
        mode.__exit__(None, None, None)
    for other in reversed(above):
        _python_dispatch._push_mode(other)


def put_in(mode: TorchDispatchMode) -> None:
    """Begins a mode below all others, as if it had been entered before them."""
    above = [_python_dispatch._pop_mode() for _ in stack()]
    with lock:
        mode.__enter__()  # type: ignore[no-untyped-call]
        moved[mode] = None
        _exchange_flags(mode, above[-1:])
    for other in reversed(above):
        _python_dispatch._push_mode(other)
    for key in _KEYS:  # where others are, `NoModes` may have taken them away
        _set_included(key, True)


def _exchange_flags(mode: TorchDispatchMode, following: list[TorchDispatchMode]) -> None:
    for mine, theirs in ((vars(mode), vars(other)) for other in following):
        for name in [name for name in mine if name.startswith("old_") and name in theirs]:
            if isinstance(mine[name], bool):  # torch 2.4
                mine[name], theirs[name] = theirs[name], mine[name]
            elif mine[name] and theirs[name]:
                mine[name][-1], theirs[name][-1] = theirs[name][-1], mine[name][-1]
