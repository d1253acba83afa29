"""What a batch has beside what is moved.

A loop that moves one part of each batch shows that batches do not come where they are needed: a part of the same batch
that it leaves as it is does not meet what has been moved, `targets = targets.to(device)` before `net(images)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.analysis.execution.frame import Frame, is_moved
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, Variable
from devlint.domain.kinds import OriginKind
from devlint.domain.place import AccessPath, StepKind
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import SOME_DIMENSIONS, Opaque, Tensor, Value

_BATCHES = re.compile(r"load|data|batch")
"""Says of what is iterated over, by its name, that it gives batches."""


def batch_of(value: Value | None) -> AccessPath | None:
    """The place of what a loop takes one by one, if a value is a part of it, and is where it was.

    What no name of the surroundings holds has a path, but no device of its own.
    """
    if not isinstance(value, (Tensor, Opaque)) or is_moved(value):
        return None
    if isinstance(value.device, Variable):
        path = value.device.place
    elif isinstance(value, Opaque) and value.device in (CPU, UNKNOWN_DEVICE):
        path = value.path
    else:
        return None
    return _batch_around(path) if len(path.steps) > 1 else None


def _batch_around(path: AccessPath) -> AccessPath | None:
    """The place of the innermost thing that a loop takes one by one, and that a place is a part of.

    Attributes are parts of batches where a name says so: layers have them, too, and hold them where they were put.
    """
    taken = [position for position, step in enumerate(path.steps[:-1]) if step.kind is StepKind.EACH]
    for position in reversed(taken):
        if path.steps[position + 1].is_element:
            return AccessPath(path.root, path.steps[: position + 1])
    for position in reversed(taken):
        if path.steps[position + 1].is_member and _BATCHES.search(AccessPath(path.root, path.steps[:position]).end):
            return AccessPath(path.root, path.steps[: position + 1])
    return None


def note_move(frame: Frame, value: Tensor | Opaque, target: Device, origin: Origin) -> None:
    """Notes that a value is moved to a device, if it is a part of a batch and is moved off the CPU."""
    batch = batch_of(value)
    if batch is not None and target != CPU:
        frame.batches.setdefault(batch, origin)


def left_behind(frame: Frame, side: Operand) -> Operand | None:
    """A part of a batch, of which another part is moved, as what it is without a move: on the CPU."""
    moved = None if side.batch is None else frame.batches.get(side.batch)
    if moved is None:
        return None
    origin = replace(
        moved, what=f"another part of the batch is moved here, but `{side.name}` is not", kind=OriginKind.LOADER
    )
    return replace(side, device=CPU, origin=origin, rank=SOME_DIMENSIONS if side.rank is None else side.rank)


def pairs_left_behind(frame: Frame, pairs: Iterable[tuple[Operand, Operand]]) -> Iterator[tuple[Operand, Operand]]:
    """The pairs again in which such a part meets what has been moved."""
    for pair in pairs if frame.batches else ():
        for side, other in (pair, pair[::-1]):
            left = left_behind(frame, side)
            if (
                left is not None
                and other.origin is not None
                and other.origin.kind in (OriginKind.MOVED, OriginKind.MODULE)
            ):
                yield left, other
