"""What a running program has settled about its process: the backend of its process group.

All of it is set by calls, and holds from then on wherever the program goes.
"""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN_BACKEND = "?"


@dataclass(frozen=True, slots=True)
class Process:
    """See the file's text.

    Attributes:
        backend: the backend of the default process group as it was named; "" for those that torch chooses,
            `UNKNOWN_BACKEND` for any; None while the program has made no group.
    """

    backend: str | None = None

    def then(self, later: Process) -> Process:
        """What is settled behind a call that began with nothing settled."""
        return Process(self.backend if later.backend is None else later.backend)


NOTHING_SETTLED = Process()


def join(left: Process, right: Process) -> Process:
    """What two paths have settled alike."""
    return Process(left.backend if left.backend == right.backend else UNKNOWN_BACKEND)
