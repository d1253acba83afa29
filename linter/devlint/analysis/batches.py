"""What a batch has beside what is moved.

A loop that moves one part of each batch shows that batches do not come where they are needed: a part of the same batch
that it leaves as it is does not meet what has been moved, `targets = targets.to(device)` before `net(images)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.analysis.frame import Frame
from devlint.domain.device import CPU, Device, Variable
from devlint.domain.provenance import Origin
from devlint.domain.summary import Side

_PART = re.compile(r"(.*\[\*\])[\[.].*")
"""The path of a part of what a loop takes one by one, and what it is a part of."""


def note_move(frame: Frame, device: Device, target: Device, origin: Origin) -> None:
    """Notes that what has a device is moved to another one, if that is a part of a batch and is moved off the CPU."""
    batch = _batch_of(device)
    if batch is not None and target != CPU:
        frame.batches.setdefault(batch, origin)


def left_behind(frame: Frame, side: Side) -> Side | None:
    """A part of a batch, of which another part is moved, as what it is without a move: on the CPU."""
    batch = _batch_of(side.device) if frame.batches else None
    moved = None if batch is None else frame.batches.get(batch)
    if moved is None:
        return None
    return replace(side, device=CPU, origin=replace(moved, what="another part of the batch is moved", born="loader"))


def pairs_left_behind(frame: Frame, pairs: Iterable[tuple[Side, Side]]) -> Iterator[tuple[Side, Side]]:
    """The pairs again in which such a part meets what has been moved."""
    for pair in pairs if frame.batches else ():
        for side, other in (pair, pair[::-1]):
            left = left_behind(frame, side)
            if left is not None and other.origin is not None and other.origin.born in ("moved", "module"):
                yield left, other


def _batch_of(device: Device) -> str | None:
    part = _PART.fullmatch(device.place) if isinstance(device, Variable) else None
    return None if part is None else part[1]
