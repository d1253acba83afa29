"""Explanations where errors are shown: by the interpreter, in threads, and in IPython."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from devlint_guard.errors import DeviceMismatchError
from devlint_guard.findings.explanation import annotate
from devlint_guard.record import installed
from devlint_guard.report.text import coloured, wants_colour


def install_excepthook() -> Callable[[], None]:
    """Makes uncaught device errors end with their explanation, in all threads and in IPython; returns the way back.

    From now on the process records where tensors come from.
    """
    installed.begin()
    ends = contextlib.ExitStack()
    ends.callback(installed.end)
    ends.callback(_explain_in(sys, sys.__excepthook__, lambda kind, error, traceback: error))
    ends.callback(explain_threads())
    ends.enter_context(_cells_explained())
    return ends.close


def show(error: BaseException) -> None:
    """Shows an uncaught error as the program would have it shown, with notes in colour on a terminal."""
    is_plain = sys.excepthook is sys.__excepthook__
    with in_colour(error) if is_plain else contextlib.nullcontext():
        sys.excepthook(type(error), error, error.__traceback__)


def explain_threads() -> Callable[[], None]:
    """Makes uncaught device errors of other threads end with their explanation; returns the way back."""
    return _explain_in(threading, threading.__excepthook__, lambda args: args.exc_value)


def _explain_in(owner: Any, plain: object, error_of: Callable[..., BaseException | None]) -> Callable[[], None]:
    """Makes the `excepthook` of a module explain the error that it is given."""
    previous = owner.excepthook

    def hook(*args: Any) -> None:
        error = error_of(*args)
        if error is None:
            previous(*args)
            return
        annotate(error)
        with in_colour(error) if previous is plain else contextlib.nullcontext():
            previous(*args)

    def uninstall() -> None:
        if owner.excepthook is hook:
            owner.excepthook = previous

    owner.excepthook = hook
    return uninstall


@contextlib.contextmanager
def _cells_explained() -> Iterator[None]:
    """The same for cells of IPython, which asks no hook of the interpreter."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        yield
        return

    def handler(shell: Any, kind: type, error: BaseException, traceback: Any, tb_offset: int | None = None) -> None:
        annotate(error)
        with in_colour(error, always=str(getattr(shell, "colors", "")).lower() != "nocolor"):
            shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), handler)
    try:
        yield
    finally:
        shell.set_custom_exc((), None)


@contextlib.contextmanager
def in_colour(error: BaseException, *, always: bool = False) -> Iterator[None]:
    """Within, the notes of an error have colours, if standard error shows them; those of its causes stay as they are.

    Args:
        always: standard error is not asked; `NO_COLOR` still holds.
    """
    if not (wants_colour(sys.stderr) or (always and not os.environ.get("NO_COLOR"))):
        yield
        return
    notes, arguments = getattr(error, "__notes__", None), error.args
    if isinstance(notes, list):
        error.__notes__ = [coloured(note) if isinstance(note, str) else note for note in notes]
    if isinstance(error, DeviceMismatchError):
        error.args = tuple(coloured(one) if isinstance(one, str) else one for one in arguments)
    try:
        yield
    finally:
        error.args = arguments
        if isinstance(notes, list):
            error.__notes__ = notes
