"""Source in the terminal: values in the colours of their devices, findings below their lines."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.diagnostics import Diagnostic, Severity
from devlint.facts import Occurrence
from devlint.inspector import Look
from devlint.quoting import printable
from devlint.report.palette import Palette
from devlint.view.numbering import Numbering
from devlint.view.runs import Run, runs_of
from devlint.view.tints import Tint, legend, tint_of

_CODES = {
    "cpu": "33",
    "a0": "32",
    "a1": "35",
    "a2": "36",
    "a3": "92",
    "a4": "95",
    "a5": "96",
    "meta": "37",
    "follows": "34",
    "several": "4;37",
    "unknown": "2",
}
_DIM = "2"
_NOTES_AT = 88
"""The column that notes at the end of a line begin in, or as near to it as the line allows."""


def render(look: Look, palette: Palette) -> str:
    """Return a file with its devices; a line that binds names says at its end where they live."""
    source, seen = look.source, look.facts.occurrences
    if source is None:
        return ""
    paint = _Paint(palette.on)
    numbering = Numbering(source)
    lines = numbering.lines
    gutter = len(str(len(lines)))
    rows = [palette.strong(printable(source.display)), _legend(legend(seen), paint)]
    below: dict[int, list[Diagnostic]] = {}
    for diagnostic in look.result.diagnostics:
        below.setdefault(diagnostic.place.line, []).append(numbering.advice(diagnostic))
    notes = _notes(seen)
    for number, runs in enumerate(runs_of(lines, seen), start=1):
        cell = numbering.begins(number)
        if cell is not None:
            rows.append(paint(f"{' ' * gutter}  # cell {cell.number}", _DIM))
        width = sum(len(run.text) for run in runs)
        shown = "".join(paint(run.text.replace("\t", "    "), _code(run, seen)) for run in runs)
        row = f"{paint(f'{numbering.number(number):>{gutter}}', _DIM)}  {shown}"
        if number in notes:
            row += " " * max(_NOTES_AT - width, 2) + paint(f"# {', '.join(notes[number])}", _DIM)
        rows.append(row.rstrip())
        rows.extend(_finding(diagnostic, gutter, palette) for diagnostic in below.get(number, ()))
    return "\n".join(rows) + "\n"


class _Paint:
    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, code: str) -> str:
        text = printable(text)
        return f"\x1b[{code}m{text}\x1b[0m" if self._on and code and text.strip() else text


def _code(run: Run, seen: Sequence[Occurrence]) -> str:
    if run.value is not None:
        return _CODES[tint_of(seen[run.value]).name]
    return _DIM if run.syntax == "comment" else ""


def _legend(tints: Sequence[Tint], paint: _Paint) -> str:
    if not tints:
        return "no value here is known to be on a device"
    return "  ".join(paint(tint.label, _CODES[tint.name]) for tint in tints)


def _notes(seen: Sequence[Occurrence]) -> dict[int, list[str]]:
    """Return what the lines bind, by line, each name once."""
    notes: dict[int, list[str]] = {}
    for each in seen:
        if each.binds:
            text = f"{each.text}" if each.kind != "module" else f"{each.of or 'module'} on {each.text}"
            entries = notes.setdefault(each.place.line, [])
            if text not in entries:
                entries.append(text)
    return notes


def _finding(diagnostic: Diagnostic, gutter: int, palette: Palette) -> str:
    colour = palette.error if diagnostic.severity is Severity.ERROR else palette.warning
    pad = " " * (gutter + 1 + diagnostic.place.column)
    text = f"{pad}{colour('^ ' + diagnostic.code)} {printable(diagnostic.message)}"
    return f"{text}\n{pad}  {palette.note('help:')} {printable(diagnostic.advice)}" if diagnostic.advice else text
