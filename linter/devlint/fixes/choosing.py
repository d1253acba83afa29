"""Which fixes can be made at once: those whose edits do not touch and that do not make each other needless."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.diagnostics import Diagnostic, Edit, Place, Safety
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """Fixes to make at once: the diagnostics that they settle, and all edits in order, each once."""

    settled: tuple[Diagnostic, ...]
    edits: tuple[Edit, ...]


def choose(diagnostics: Iterable[Diagnostic], *, unsafe: bool) -> Choice:
    """Take the fixes of one file in the order of its diagnostics, and leave those that the earlier ones exclude.

    An edit that two fixes share, such as an import, is made once and excludes neither. Of the fixes with one subject
    the first one treats the cause: if it is unsafe, the others wait for it.

    Args:
        diagnostics: of one file.
        unsafe: take unsafe fixes too.
    """
    settled: list[Diagnostic] = []
    taken: list[Edit] = []
    subjects: set[str] = set()
    for diagnostic in sorted(diagnostics, key=lambda diagnostic: diagnostic.sort_key):
        fix = diagnostic.fix
        if fix is None:
            continue
        if fix.safety is Safety.UNSAFE and not unsafe:
            subjects.add(fix.subject)
            continue
        added = [edit for edit in fix.edits if edit not in taken]
        if added:
            needless = bool(fix.subject) and fix.subject in subjects
            if needless or any(_touch(edit.place, other.place) for edit in added for other in taken):
                continue
        settled.append(diagnostic)
        taken += added
        subjects.add(fix.subject)
    return Choice(tuple(settled), tuple(sorted(taken)))


def _touch(first: Place, second: Place) -> bool:
    """Whether two stretches have a character in common, or meet where one ends and the other begins."""
    return first.start <= second.end and second.start <= first.end
