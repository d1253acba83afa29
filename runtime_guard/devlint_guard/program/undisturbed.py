"""The guard looks at a running program without disturbing it, also where something goes wrong in the guard."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Final, TypeVar

from torch._C import DisableTorchFunction

from devlint_guard.errors import DevlintWarning, GuardError
from devlint_guard.program.frames import is_user_code

T = TypeVar("T")

FAILED: Final = "devlint: the explanation failed"
"""How the line begins that says so."""


def protected(work: Callable[[], T], failed: Callable[[str], object]) -> T | None:
    """Returns what explaining code returns; None if it fails, which the program's own error must not suffer from.

    All code that explains an error of the program is called through here. `KeyboardInterrupt`, `SystemExit` and what a
    signal handler of the program raises go on their way.

    Args:
        work: explains.
        failed: is told of a failure, in one line.
    """
    try:
        with DisableTorchFunction():
            return work()
    except Exception as problem:
        if is_of_the_program(problem):
            raise
        with contextlib.suppress(Exception):
            failed(f"{FAILED}, which is a bug of devlint: {_text_of(problem)}")
    return None


def warn(line: str) -> None:
    """Warns of a failure, at the caller of the public function that has failed."""
    warnings.warn(line, DevlintWarning, stacklevel=4)


def is_of_the_program(problem: Exception) -> bool:
    """Whether an error that was raised while the guard looked is of the program; never raises.

    A handler of a signal has raised it: a function of the user's that was given a frame.
    """
    with contextlib.suppress(Exception):
        return any(_is_handler(frame) for frame, _ in walk_tb(problem.__traceback__))
    return False


def _text_of(problem: Exception) -> str:
    """The class and the text of an error, on one line."""
    try:
        return " ".join(f"{type(problem).__name__}: {problem}".split())
    except Exception:
        return type(problem).__name__


class Undisturbed:
    """A context in which the guard looks at the program: what fails there does not end the program.

    Function modes and subclasses of tensors see nothing of it. An error goes on its way if it is what the guard has to
    say, or the program's own: a handler of a signal raises where the program happens to be.

    Args:
        failed: receives the error; None to ignore it.
    """

    __slots__ = ("_failed", "_unseen")

    def __init__(self, failed: Callable[[Exception], object] | None) -> None:
        self._failed = failed
        self._unseen = DisableTorchFunction()

    def __enter__(self) -> None:
        self._unseen.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._unseen.__exit__(kind, error, traceback)
        is_own = isinstance(error, (GuardError, DevlintWarning))
        if not isinstance(error, Exception) or is_own or is_of_the_program(error):
            return False
        # Where the program has gone so deep that the guard finds no room, its own next calls fail by themselves.
        if self._failed is not None and not isinstance(error, RecursionError):
            with contextlib.suppress(Exception):
                self._failed(error)
        return True


def _is_handler(frame: FrameType) -> bool:
    if not is_user_code(frame.f_code, frame.f_globals.get("__name__")):
        return False
    count = frame.f_code.co_argcount + 1  # `*args` come behind those with names
    given = (frame.f_locals.get(name) for name in frame.f_code.co_varnames[:count])
    return any(isinstance(part, FrameType) for one in given for part in (one if isinstance(one, tuple) else (one,)))
