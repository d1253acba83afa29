"""Reports on a function that only its callers show: each cause is told once, at the operation that raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.diagnostics import Certainty, Diagnostic, Place, Related

_CERTAINTIES = (*Certainty,)


def once(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the diagnostics, those of one operation that several calls show as one, with these calls in its notes.

    The report that stays is the most certain one, and of these the one with the shortest way to the operation. It has
    no fix if the same report would stay after the fix, for another call.
    """
    shown: dict[tuple[Place, str], list[Diagnostic]] = {}
    for one in diagnostics:
        if one.calls:
            shown.setdefault((one.place, one.code), []).append(one)
        else:
            yield one
    for same in shown.values():
        first, *others = sorted(same, key=_preferred)
        more = {place for one in others for place in one.calls} | {*first.calls[1:]}
        calls = (first.calls[0], *sorted(more - {first.calls[0]}))
        stays = any(one.message == first.message and one.fix != first.fix for one in others)
        fix = None if stays else first.fix
        yield replace(first, calls=calls, related=(*first.related, *_further(calls)), fix=fix)


def _preferred(one: Diagnostic) -> tuple[int, int, Place, str]:
    return _CERTAINTIES.index(one.certainty), len(one.related), one.calls[0], one.message


def _further(calls: tuple[Place, ...]) -> Iterator[Related]:
    _, *others = calls
    if others:
        more = len(others) - 1
        rest = "" if not more else ", and so does one more call" if more == 1 else f", and so do {more} more calls"
        yield Related(others[0], f"this call also leads to the operation{rest}")


def at_its_call(diagnostic: Diagnostic) -> Diagnostic:
    """Return the report at the first call that shows it, without a fix, which is one of the called file."""
    return replace(diagnostic, place=diagnostic.calls[0], fix=None)
