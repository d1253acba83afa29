"""What a running program has settled about its process, for everything that comes after.

All of it is set by calls and assignments, and holds from then on wherever the program goes.
"""

from __future__ import annotations

from dataclasses import field, replace

from devlint.domain.provenance import Origin
from devlint.records import dataclass

UNKNOWN_BACKEND = "?"
UNKNOWN_NUMBER = -1


@dataclass(frozen=True, slots=True)
class Process:
    """See the file's text.

    Attributes:
        backend: the backend of the default process group as it was named; "" for those that torch chooses,
            `UNKNOWN_BACKEND` for any; None while the program has made no group.
        visible: how many devices CUDA_VISIBLE_DEVICES lets CUDA see; `UNKNOWN_NUMBER` for any number, None while
            the program has not set it.
        started: CUDA has started, and reads CUDA_VISIBLE_DEVICES no more.
        limit, start: where the variable was set, and what has started CUDA.
    """

    backend: str | None = None
    visible: int | None = None
    started: bool = False
    limit: Origin | None = field(default=None, compare=False)
    start: Origin | None = field(default=None, compare=False)

    def then(self, later: Process) -> Process:
        """What is settled behind a call that began with nothing settled."""
        result = self
        if later.backend is not None:
            result = replace(result, backend=later.backend)
        if later.visible is not None and not self.started:
            result = replace(result, visible=later.visible, limit=later.limit)
        if later.started and not self.started:
            result = replace(result, started=True, start=later.start)
        return result


NOTHING_SETTLED = Process()


def join(left: Process, right: Process) -> Process:
    """What two paths have settled alike."""
    if left == right:
        return left
    return Process(
        left.backend if left.backend == right.backend else UNKNOWN_BACKEND,
        left.visible if left.visible == right.visible else UNKNOWN_NUMBER,
        left.started and right.started,
        left.limit,
        left.start,
    )
