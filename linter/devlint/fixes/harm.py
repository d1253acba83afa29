"""Fixes that the analysis objects to: it reports the same as before, or an error that it did not report before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from devlint.diagnostics import Certainty, Diagnostic, Place, Severity
from devlint.selection import ALWAYS

Moved: TypeAlias = Callable[[int, int], tuple[tuple[int, int], ...]]
"""Where edits leave a line and column; two places if an edit inserts something there."""

_MACHINES = "DEV3"
"""The rules about devices that a machine lacks; a program that needs such a device once may do so again."""

_CERTAINTIES = (*reversed(Certainty),)


def useless(
    settled: Iterable[Diagnostic], before: Iterable[Diagnostic], after: Sequence[Diagnostic], moved: Moved
) -> list[Diagnostic]:
    """Return those of the fixes made that do not help; all of them if more of the file cannot be read than before.

    Args:
        settled: the diagnostics of one file whose fixes were made.
        before, after: the diagnostics of that file, before the fixes and now.
        moved: where a position of the file is now.
    """
    if sum(one.code in ALWAYS for one in after) > sum(one.code in ALWAYS for one in before):
        return list(settled)
    reported = {(one.code, one.message, one.place.line, one.place.column) for one in after}
    return [
        one
        for one in settled
        if any((one.code, one.message, *at) in reported for at in moved(one.place.line, one.place.column))
    ]


def new_errors(
    before: Iterable[Diagnostic],
    after: Iterable[Diagnostic],
    moved: Mapping[str, Moved],
    written: Collection[Place],
) -> Iterator[Diagnostic]:
    """Yield the reports of errors that PyTorch raises, and that are new with a fix.

    A report of the same family at a place of an earlier one is not new: it tells of the next value in an operation
    of several, of the next operation with one cause, or names a device by another name. Nor is one at a call that
    leads to such an operation. Reports of other kinds, such as those of words or of speed, errors that are merely
    possible, and devices that a machine lacks and that no fix has written, tell of no harm.

    Args:
        before, after: the diagnostics of all files.
        moved: by file that was edited, where a position is now.
        written: the texts of the fixes, where they are now.
    """
    known = {
        key
        for one in before
        for place in (one.place, *(step.place for step in one.related if step.again))
        for key in _keys(one.code, place, moved.get(place.file))
    }
    for one in after:
        raises = one.pytorch is not None and one.certainty is not Certainty.POSSIBLE
        if one.code.startswith(_MACHINES) and not any(_meet(one.place, text) for text in written):
            continue
        if raises and not known.issuperset(_keys(one.code, one.place)) and known.isdisjoint(_steps(one)):
            yield one


def allows(settled: Diagnostic, brought: Diagnostic, *, unsafe: bool) -> bool:
    """Whether a fix may bring a new error for the report that it settles.

    An unsafe one may if the error is no worse, and has a fix as well: else the same bug is told of one line below.
    """
    return unsafe and brought.fix is not None and _gravity(brought) <= _gravity(settled)


def _meet(one: Place, other: Place) -> bool:
    return one.file == other.file and one.start <= other.end and other.start <= one.end


def _keys(code: str, place: Place, moved: Moved | None = None) -> list[tuple[str | int, ...]]:
    """Return the properties that tell a report from new ones, once for each position where its place may be now."""
    family, at = code[: len(_MACHINES)], (place.line, place.column)
    if family == _MACHINES:
        return [(place.file, family)]
    return [(place.file, family, *position) for position in ((at,) if moved is None else moved(*at))]


def _steps(diagnostic: Diagnostic) -> Iterator[tuple[str | int, ...]]:
    """Yield the same of the places in its notes, the operation inside of a call among them."""
    family = diagnostic.code[: len(_MACHINES)]
    yield from ((step.place.file, family, step.place.line, step.place.column) for step in diagnostic.related)


def _gravity(diagnostic: Diagnostic) -> tuple[bool, bool, int]:
    """Order reports by whether PyTorch raises, by the severity, and by the runs that they concern."""
    raises = diagnostic.pytorch is not None
    return (raises, diagnostic.severity is Severity.ERROR, _CERTAINTIES.index(diagnostic.certainty))
