"""What a rehearsal has not judged: the honest part of its result."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from dataclasses import dataclass, field

from devlint_guard.callers import caller_of


@dataclass(slots=True)
class Unjudged:
    """The operations that were not judged, with the user's line and their number.

    Attributes:
        places: the number of times, by operation and place.
    """

    places: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, what: str) -> None:
        """Note something that the user's present line does."""
        caller = caller_of(sys._getframe(), threading.get_ident())
        where = "" if caller is None else f"{caller.place.file}:{caller.line}"
        self.places[what, where] += 1

    def forget(self) -> None:
        """Begin anew."""
        self.places.clear()

    def lines(self) -> list[str]:
        """Return a sentence for each thing that was not judged, in the order in which they happened."""
        return [
            f"{where or 'somewhere'}: {what}" + (f" ({times} times)" if times > 1 else "")
            for (what, where), times in self.places.items()
        ]


UNJUDGED = Unjudged()
