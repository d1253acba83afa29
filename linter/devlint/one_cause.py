"""Reports in one file that have one cause, such as each use of a tensor that was created on the CPU: they become one.

The report that stays is the first in the file, as PyTorch raises there. Its notes name the other operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from devlint.diagnostics import Diagnostic, Related, Silenced

_MOST_NAMED = 4
"""How many other operations the notes of a report name."""


def once(reported: Sequence[Diagnostic], silenced: Iterable[Silenced]) -> Iterator[Diagnostic]:
    """Yield the reports of a file, those of one cause as one.

    If a comment silences the first report of a cause, it silences the cause.

    Args:
        reported: the diagnostics of the file that no comment silences.
        silenced: those that a comment silences.
    """
    quiet = [entry.diagnostic for entry in silenced]
    firsts = {first: others for first, *others in _groups((*reported, *quiet))}
    for one in reported:
        if one.cause is None:
            yield one
        elif one in firsts:
            shown = [other for other in firsts[one] if other not in quiet]
            yield replace(one, related=(*one.related, *_named(shown)), cause=None)


def _groups(found: Iterable[Diagnostic]) -> Iterator[list[Diagnostic]]:
    """Yield the diagnostics of each cause, in order; a device that only the surroundings know is that of the others."""
    groups: dict[str, dict[str, list[Diagnostic]]] = {}
    for one in sorted(found, key=lambda one: one.sort_key):
        if one.cause is not None:
            same = groups.setdefault(one.cause.value, {})
            device = one.cause.device or next(iter(same), "")
            if device and "" in same:
                same[device] = same.pop("")
            same.setdefault(device, []).append(one)
    for same in groups.values():
        yield from same.values()


def _named(others: Sequence[Diagnostic]) -> Iterator[Related]:
    """Yield the notes on the other operations with the cause of a report."""
    named, more = others[:_MOST_NAMED], len(others) - _MOST_NAMED
    for position, one in enumerate(named, 1):
        rest = "" if more < 1 or position < len(named) else f" ({more} more operations have this cause)"
        yield Related(one.place, f"the same cause: {one.message}{rest}", again=True)
