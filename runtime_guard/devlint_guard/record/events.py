"""One thing that happened to tensors or modules."""

from __future__ import annotations

import enum
import itertools
from typing import Any

from devlint_guard.record.stacks import Stack


class Kind(enum.Enum):
    """What happened."""

    CREATED = "created"
    MOVED = "moved"
    MODULE = "moved with its module"
    LOADED = "loaded"
    BATCH = "given by a loader"
    STORED = "stored"
    DEFAULT = "default device"


_count = itertools.count(1)


class Event:
    """One thing that happened.

    Attributes:
        number: later events have larger ones.
        by: what did it, as a report names it where the source does not: `torch.zeros`.
        before: the device that a move was from.
        after: the device where its tensors are; None where it leaves them where they are.
        stack: the user's frames that were running.
        source: the event of what it took its device from: a tensor that was moved, `x` of `device=x.device`, a part
            of a batch.
    """

    __slots__ = ("after", "before", "by", "kind", "number", "source", "stack")

    def __init__(
        self, kind: Kind, by: str, stack: Stack, *, before: Any = None, after: Any = None, source: Event | None = None
    ) -> None:
        self.number = next(_count)
        self.kind, self.by, self.stack = kind, by, stack
        self.before, self.after, self.source = before, after, source

    @property
    def root(self) -> Event:
        """The event that decided the device: that of `x`, if something was created with `device=x.device`."""
        event = self
        while event.kind is Kind.CREATED and event.source is not None:
            event = event.source
        return event
