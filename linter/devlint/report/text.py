"""The formats for people: `full` with source excerpts, `concise` with one line each; and the closing line."""

from __future__ import annotations

from functools import partial

from devlint.diagnostics import Diagnostic, Fix, Place, Safety, Severity
from devlint.errors import OutputError
from devlint.quoting import printable
from devlint.report.excerpt import Mark, Paint, excerpt, marks_of
from devlint.report.outcome import Outcome
from devlint.report.palette import Palette


def render_concise(outcome: Outcome, palette: Palette) -> str:
    """Render one line per diagnostic: `file:line:column: CODE [name] message`."""
    rows = []
    for diagnostic in outcome.diagnostics:
        code = _by_severity(diagnostic, palette)(diagnostic.code)
        message = _one_line(diagnostic.message)
        rows.append(f"{palette.strong(_where(diagnostic.place))}: {code} [{diagnostic.rule}] {message}\n")
    return "".join(rows)


def render_full(outcome: Outcome, palette: Palette) -> str:
    """Render each diagnostic as a frame: what, where, the story of each value, PyTorch's words, advice."""
    return "".join(_Frame(diagnostic, outcome, palette).render() for diagnostic in outcome.diagnostics)


def summary(outcome: Outcome, unreadable: int) -> str:
    """Return the last line of a run.

    Args:
        outcome: the run.
        unreadable: how many files the run could not analyse or write.
    """
    counts = [
        _counted(outcome.count(severity), severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
        if outcome.count(severity)
    ]
    files = _counted(outcome.files, "file")
    known = f" {outcome.baselined} in the baseline." if outcome.baselined else ""
    unwritten = sum(isinstance(problem, OutputError) for problem in outcome.problems)
    counted = ((unreadable - unwritten, "analysed"), (unwritten, "written"))
    failed = "".join(f" {_counted(number, 'file')} could not be {what}." for number, what in counted if number)
    fixed = f"Fixed {outcome.fixed}. " if outcome.fixed else ""
    if counts:
        return f"{fixed}Found {', '.join(counts)} in {files}.{known}{failed}"
    return f"{fixed}No {'new ' * bool(known)}mistake found in {files}.{known}{failed}"


def fixes_hint(outcome: Outcome, *, unsafe: bool) -> str:
    """Return the number of reports that have a fix, as a sentence; "" for none. One fix may settle several of them.

    Args:
        outcome: the run.
        unsafe: `--unsafe-fixes` is given already.
    """
    safe, more = (outcome.fixable(safety) for safety in (Safety.SAFE, Safety.UNSAFE))
    if unsafe:
        safe, more = safe + more, 0
    if not safe and not more:
        return ""
    if not more:
        return f"`--fix` has a fix for {safe} of them."
    if not safe:
        return f"`--fix --unsafe-fixes` has a fix for {more} of them."
    return f"`--fix` has a fix for {safe} of them, `--fix --unsafe-fixes` for {more} more."


class _Frame:
    """One diagnostic in the `full` format; the line numbers of all its excerpts stand in one column."""

    def __init__(self, diagnostic: Diagnostic, outcome: Outcome, palette: Palette) -> None:
        self._diagnostic = diagnostic
        self._outcome = outcome
        self._palette = palette
        places = [diagnostic.place, *(label.place for label in diagnostic.labels)]
        places += [related.place for related in diagnostic.related]
        self._gutter = len(str(max(max(place.line, place.end_line) for place in places)))
        self._rows: list[str] = []

    def render(self) -> str:
        diagnostic, palette = self._diagnostic, self._palette
        paint = _by_severity(diagnostic, palette)
        head = paint(f"{diagnostic.severity.value}[{diagnostic.code}]")
        what = palette.strong(f"{diagnostic.rule}: {_one_line(diagnostic.message)}")
        self._rows.append(f"{head}: {what}")
        self._main_excerpts(paint)
        for related in diagnostic.related:
            self._close_excerpt()
            self._rows.append(f"{palette.note('note')}: {_one_line(related.message)}")
            self._excerpt("-->", related.place, self._marks(related.place, ""), palette.note)
        footers = [("PyTorch says", diagnostic.pytorch), ("help", diagnostic.advice)]
        if diagnostic.fix is not None or any(text for _, text in footers):
            self._close_excerpt()
        for title, text in footers:
            if text:
                self._footer(title, text)
        if diagnostic.fix is not None:
            self._footer("fix", _how_to_fix(diagnostic.fix, diagnostic.advice))
        return "\n".join(self._rows) + "\n\n"

    def _main_excerpts(self, paint: Paint) -> None:
        """Show the stretch with its labels underlined; underline itself where no label stands in its line."""
        place, labels = self._diagnostic.place, self._diagnostic.labels
        here = [label for label in labels if label.place.source == place.source]
        marks = [mark for label in here for mark in self._marks(label.place, label.text)]
        if not any(mark.line == place.line for mark in marks):
            own = self._marks(place, "")
            marks = own[:1] + marks if marks else own
        self._excerpt("-->", place, marks, paint)
        for label in labels:
            if label.place.source != place.source:
                self._excerpt("-->", label.place, self._marks(label.place, label.text), paint)

    def _marks(self, place: Place, text: str) -> list[Mark]:
        return marks_of(place, text, partial(self._outcome.line, place.source))

    def _excerpt(self, arrow: str, place: Place, marks: list[Mark], paint: Paint) -> None:
        frame = self._palette.frame
        self._rows.append(f"{' ' * self._gutter}{frame(arrow)} {_where(place)}")
        self._rows += excerpt(
            marks, lambda number: self._outcome.line(place.source, number), self._gutter, frame, paint
        )

    def _close_excerpt(self) -> None:
        self._rows.append(self._palette.frame(f"{' ' * self._gutter} |"))

    def _footer(self, title: str, text: str) -> None:
        indent = " " * self._gutter
        first, *others = text.strip().split("\n")
        self._rows.append(
            f"{indent} {self._palette.frame('=')} {self._palette.note(title)}: {printable(first.strip())}"
        )
        self._rows += [f"{indent}   {printable(other.strip())}".rstrip() for other in others]


def _how_to_fix(fix: Fix, advice: str | None) -> str:
    """Return the option that makes the fix, with the fix itself if the advice does not give it."""
    option = "`--fix`" if fix.safety is Safety.SAFE else "`--fix --unsafe-fixes`"
    given = advice or ""
    if not given.startswith(fix.message):
        return f"{fix.message} ({option})"
    return f"{option} does the first" if given.startswith(f"{fix.message}; ") else f"{option} does so"


def _by_severity(diagnostic: Diagnostic, palette: Palette) -> Paint:
    return palette.error if diagnostic.severity is Severity.ERROR else palette.warning


def _where(place: Place) -> str:
    return printable(f"{place.source}:{place.line}:{place.column}")


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
