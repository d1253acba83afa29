"""What a renderer gets: the diagnostics of a run, the lines they speak of, and the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from devlint.diagnostics import Diagnostic, Place, RuleText, Safety, Severity, Silenced, Silencer
from devlint.errors import DevlintError
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run, ready to be rendered.

    Attributes:
        diagnostics: the reported ones, in order.
        files: how many files were looked at.
        seconds: how long it took; the only part that differs between two runs over the same files.
        lines: the source lines of every file and cell that a diagnostic speaks of, by `Place.source`.
        rows: by cell of a notebook, as `Place.source` names it, the line of the file in which each line begins.
        problems: the files that could not be analysed and why, in order.
        silenced: the diagnostics that are not reported, in order.
        has_baseline: there is a baseline, and `diagnostics` are those that it lacks.
        rule_texts: gives what the rules behind the diagnostics say of themselves, by code, in order.
        fixed: how many diagnostics are gone because their fixes were made.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: int
    seconds: float
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    problems: Sequence[DevlintError] = ()
    silenced: Sequence[Silenced] = ()
    has_baseline: bool = False
    rule_texts: Callable[[], Mapping[str, RuleText]] = dict
    fixed: int = 0

    def count(self, severity: Severity) -> int:
        """Return how many diagnostics have that severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)

    def fixable(self, safety: Safety) -> int:
        """Return how many diagnostics have a fix of that safety."""
        return sum(diagnostic.fix is not None and diagnostic.fix.safety is safety for diagnostic in self.diagnostics)

    def everything(self) -> list[Diagnostic]:
        """Return all diagnostics in order, reported or not."""
        return sorted((*self.diagnostics, *(one.diagnostic for one in self.silenced)), key=lambda one: one.sort_key)

    @property
    def baselined(self) -> int:
        """How many diagnostics are in a baseline."""
        return sum(one.by is Silencer.BASELINE for one in self.silenced)

    def file_lines(self, place: Place) -> tuple[int, int]:
        """Return the first and the last line of a place, for formats that know the lines of files only.

        A line of a cell begins in that line of the notebook's file, which is JSON.
        """
        if place.cell is None:
            return place.line, place.end_line
        rows = self.rows[place.source]
        return rows[place.line - 1], rows[place.end_line - 1]

    def line(self, source: str, number: int) -> str | None:
        """Return a source line, counted from 1, or None when it is not at hand."""
        lines = self.lines.get(source, ())
        return lines[number - 1] if 0 < number <= len(lines) else None
