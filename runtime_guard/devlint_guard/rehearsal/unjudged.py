"""What a rehearsal has not judged, the honest part of its result; and what its child processes have to tell."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType
from typing import Final, NoReturn

from devlint_guard.program.frames import shown_path, user_frame


class Journal:
    """A file to which the child processes of a rehearsal add lines, for the process that began it.

    Attributes:
        path: the file; empty without a rehearsal.
    """

    def __init__(self) -> None:
        self.path = ""
        self._owner = 0

    def begin(self, path: str = "") -> None:
        """Begin a journal in this process, or write to that of a parent, which has a path."""
        self.path, self._owner = path, 0
        if not path:
            handle, self.path = tempfile.mkstemp(prefix="devlint-", suffix=".jsonl")
            os.close(handle)
            self._owner = os.getpid()

    def end(self) -> None:
        """Remove the file, if this process has made it."""
        if self._owner == os.getpid():
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self.path = ""

    def write(self, kind: str, text: str) -> None:
        """Add a line, if this is a child; one call of the system writes it, so that lines of processes do not mix."""
        if self.path and self._owner != os.getpid():
            with contextlib.suppress(OSError), open(self.path, "ab", buffering=0) as file:
                file.write(json.dumps([kind, text]).encode() + b"\n")

    def read(self, kind: str) -> list[str]:
        """Return the texts of a kind that children have written, each once and in order."""
        if self.path and self._owner == os.getpid():
            with contextlib.suppress(OSError), open(self.path, encoding="utf-8") as file:
                rows = [json.loads(line) for line in file if line.endswith("\n")]
                return list(dict.fromkeys(text for found, text in rows if found == kind))
        return []

    def forget(self) -> None:
        """Empty the file."""
        if self.path and self._owner == os.getpid():
            with contextlib.suppress(OSError):
                os.truncate(self.path, 0)


JOURNAL: Final = Journal()

NOT_JUDGED, ERROR, PLACED = "not judged", "error", "placed"
"""What children write: an operation that was not judged, a device error, the type of a device in use."""


class Stopped(BaseException):
    """Ends a program that cannot be rehearsed any further; no handler for errors catches it."""


@dataclass(slots=True)
class Unjudged:
    """The operations that were not judged, with the user's line and their number.

    Attributes:
        places: the number of times, by operation and place.
    """

    places: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, what: str, frame: FrameType | None = None) -> None:
        """Note something that the user's present line does, or that of a frame."""
        at = user_frame(frame or sys._getframe(), threading.get_ident())
        where = "" if at is None else f"{shown_path(at.f_code.co_filename)}:{at.f_lineno}"
        self.places[what, where] += 1
        if self.places[what, where] == 1:
            JOURNAL.write(NOT_JUDGED, f"{where or 'somewhere'}: {what}")

    def stop(self, what: str, frame: FrameType | None = None) -> NoReturn:
        """Note something that a rehearsal cannot do, and end the program by raising `Stopped`."""
        self.note(f"a rehearsal cannot run {what}, and has stopped the program here", frame)
        raise Stopped(f"a rehearsal cannot run {what}")

    def forget(self) -> None:
        """Begin anew."""
        self.places.clear()
        JOURNAL.forget()

    def lines(self) -> list[str]:
        """Return a sentence for each thing that was not judged, in their order; those of child processes come last."""
        own = {f"{where or 'somewhere'}: {what}": times for (what, where), times in self.places.items()}
        return [
            *(text + (f" ({times} times)" if times > 1 else "") for text, times in own.items()),
            *(f"{text} (in a child process)" for text in JOURNAL.read(NOT_JUDGED) if text not in own),
        ]


UNJUDGED = Unjudged()
