"""What a rehearsal has not judged: the honest part of its result."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from devlint_guard.program.frames import caller_of
from devlint_guard.rehearsal import journal
from devlint_guard.rehearsal.journal import JOURNAL


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
        caller = caller_of(frame or sys._getframe(), threading.get_ident())
        where = "" if caller is None else f"{caller.place.file}:{caller.line}"
        self.places[what, where] += 1
        if self.places[what, where] == 1:
            JOURNAL.write(journal.UNJUDGED, f"{where or 'somewhere'}: {what}")

    def stop(self, what: str, frame: FrameType | None = None) -> NoReturn:
        """Note something that a rehearsal cannot do, and end the program.

        Raises:
            Stopped: always.
        """
        self.note(f"a rehearsal cannot run {what}, and has stopped the program here", frame)
        raise Stopped(f"a rehearsal cannot run {what}")

    def forget(self) -> None:
        """Begin anew."""
        self.places.clear()
        JOURNAL.forget()

    def lines(self) -> list[str]:
        """Return a sentence for each thing that was not judged, in the order in which they happened.

        Those of child processes come last.
        """
        own = {f"{where or 'somewhere'}: {what}": times for (what, where), times in self.places.items()}
        return [
            *(text + (f" ({times} times)" if times > 1 else "") for text, times in own.items()),
            *(f"{text} (in a child process)" for text in JOURNAL.read(journal.UNJUDGED) if text not in own),
        ]


UNJUDGED = Unjudged()
