"""Moves whose result is thrown away, and the later operations that have a conflict because of that."""

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
    later = [one.fact for one in conflicts if one.place > item.place and isinstance(one.fact, Conflict)]
    return any(_is_moved(side, move) for conflict in later for side in (conflict.first, conflict.second))


def _is_moved(side: Meeting, move: DiscardedMove) -> bool:
    """Whether one side of a conflict is the tensor that stayed where it was."""
    known = len(move.trace)
    return known > 0 and side.trace[:known] == move.trace and side.device == move.before
