"""Moves whose result is thrown away, and the operations that miss it: the tensor meets there what it should be beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from devlint.facts import Anchored, Conflict, DiscardedMove, Meeting


def with_need(facts: Sequence[Anchored]) -> list[Anchored]:
    """Return the facts of a file, and say of each discarded move whether a conflict behind it needs its result."""
    conflicts = [item for item in facts if isinstance(item.fact, Conflict)]
    return [
        replace(item, fact=replace(item.fact, needed=_is_needed(item, item.fact, conflicts)))
        if isinstance(item.fact, DiscardedMove)
        else item
        for item in facts
    ]


def _is_needed(item: Anchored, move: DiscardedMove, conflicts: Iterable[Anchored]) -> bool:
    return any(
        conflict.place > item.place
        and any(_is_moved(side, move) for side in (conflict.fact.first, conflict.fact.second))
        for conflict in conflicts
        if isinstance(conflict.fact, Conflict)
    )


def _is_moved(side: Meeting, move: DiscardedMove) -> bool:
    """Whether one side of a conflict is the tensor that stayed where it was."""
    known = len(move.trace)
    return known > 0 and side.trace[:known] == move.trace and side.device == move.before
