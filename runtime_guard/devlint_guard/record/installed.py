"""What records, put in its places once for all that need it: a guard, a rehearsal, `explain`."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from devlint_guard.program.replacements import Replacements
from devlint_guard.record import factories, moves, stacks, stores
from devlint_guard.record.recorder import RECORD
from devlint_guard.requirement import is_full

_lock = threading.RLock()
_users = 0
_replaced, _factories = Replacements(is_shared=True), Replacements(is_shared=True)


def begin(*, is_whole: bool = False) -> None:
    """Records from now on, in all threads; as often as `end` is called.

    Args:
        is_whole: factories too, although the program may have compiled functions that call them.
    """
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            # Before torch 2.7, an export frees a weak reference to the storage of a tensor that it made once too often.
            if is_whole or (is_full() and not _has_compiled()):
                factories.install(_factories)
                _replaced.around(torch, "compile", _compile)
            for part in (moves, stores):
                part.install(_replaced)
            RECORD.is_on = True


def end() -> None:
    """Records no longer, and forgets, once everybody that began has ended."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            RECORD.is_on = False
            _replaced.undo()
            _factories.undo()
            RECORD.forget()


@functools.cache
def keep_on() -> None:
    """Records until the process ends."""
    begin()


def let_go() -> None:
    """Takes back what `keep_on` has done."""
    if keep_on.cache_info().currsize:
        keep_on.cache_clear()
        end()


def notes_factories() -> bool:
    """Whether factories are noted; where they are not, a tensor can be made on a device, or on meta, unnoticed."""
    return len(_factories) > 0


def _has_compiled() -> bool:
    """Whether the program has compiled something: a factory that is replaced would make PyTorch compile it again."""
    backends = getattr(sys.modules.get("torch._dynamo.eval_frame"), "cached_backends", {})
    return any(one is not None for one in backends.values())


def _compile(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    _factories.undo()
    RECORD.apart()
    return original(*args, **kwargs)


@contextlib.contextmanager
def recording() -> Iterator[None]:
    """Records all there is while the body runs: also what the user's files store that are read there."""
    begin(is_whole=True)
    followed, stacks.reads_variables = Replacements(), True
    try:
        stores.follow(followed)
        yield
    finally:
        stacks.reads_variables = False
        followed.undo()
        end()
