"""The user's line that is running: cheap to note while the program runs, made into a place once there is a report."""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import NamedTuple

from devlint_guard.finding import Place
from devlint_guard.program.frames import is_user_code, shown_path


class Caller(NamedTuple):
    """A line of the user's code, from which something was called."""

    code: CodeType
    line: int

    @property
    def place(self) -> Place:
        """As reports show it."""
        function = str(getattr(self.code, "co_qualname", self.code.co_name)).rpartition("<locals>.")[2]
        return Place(shown_path(self.code.co_filename), self.line, 0, self.line, 0, function)


def user_frame(frame: FrameType | None, thread: int) -> FrameType | None:
    """The innermost frame of the user's own code, from a running frame outwards.

    Args:
        frame: where to start.
        thread: the one that waits for this one where this one runs none of the user's code. PyTorch computes gradients
            on accelerators in threads of its own, for the calls of that thread.
    """
    found = _outwards(frame)
    if found is None and thread != threading.get_ident():
        found = _outwards(sys._current_frames().get(thread))
    return found


def caller_of(frame: FrameType | None, thread: int) -> Caller | None:
    """The line that `user_frame` is at."""
    found = user_frame(frame, thread)
    return None if found is None else Caller(found.f_code, found.f_lineno)


def _outwards(frame: FrameType | None) -> FrameType | None:
    while frame is not None and not is_user_code(frame.f_code, frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame
