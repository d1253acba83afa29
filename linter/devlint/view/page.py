"""Source as a page: values in the colours of their devices, with their stories; findings below their lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from devlint.diagnostics import Diagnostic, Place, Severity
from devlint.facts import Occurrence
from devlint.inspector import Look
from devlint.view.document import document, escape, marked
from devlint.view.numbering import Numbering
from devlint.view.runs import Run, runs_of, stretches
from devlint.view.tints import Tint, legend, tint_of

LONGEST_NAME = 60


def render(looks: Sequence[Look]) -> str:
    """Return one page with all files that could be read."""
    files = [_File(number, look) for number, look in enumerate(looks, start=1) if look.source is not None]
    anchors = {file.display: file for file in files}
    data: list[Mapping[str, object]] = []
    sections = []
    for file in files:
        sections.append(file.section(len(data), anchors))
        data.extend(file.values(anchors))
    seen = [each for file in files for each in file.seen]
    title = files[0].display if len(files) == 1 else f"{len(files)} files"
    body = "\n".join(
        [
            _header(title, files, seen),
            f"<main>\n{_contents(files)}{''.join(sections)}</main>",
            '<div id="card" role="status" hidden></div>',
        ]
    )
    return document(f"{title} · devlint", body, data)


def _header(title: str, files: Sequence[_File], seen: Sequence[Occurrence]) -> str:
    counts = Counter(diagnostic.severity for file in files for diagnostic in file.diagnostics)
    said = [
        f'<span class="{severity.value}">{counts[severity]} {severity.value}{"s" * (counts[severity] != 1)}</span>'
        for severity in Severity
        if counts[severity]
    ]
    found = f'<span class="counts">{", ".join(said) or "nothing found"}</span>'
    used = Counter(tint_of(each) for each in seen)
    chips = "".join(f"<li>{_chip(tint, used[tint])}</li>" for tint in legend(seen))
    return (
        f"<header>\n<h1>{escape(title)} {found}</h1>\n"
        f'<ul class="legend" aria-label="Devices; press one to see only its values">{chips}</ul>\n</header>'
    )


def _contents(files: Sequence[_File]) -> str:
    """List the files of a page that has several, with the number of reports in each."""
    if len(files) == 1:
        return ""
    rows = []
    for file in files:
        severities = {diagnostic.severity.value for diagnostic in file.diagnostics}
        worst = "error" if "error" in severities else "".join(severities)
        count = f' <span class="count {worst}">{len(file.diagnostics)}</span>' if worst else ""
        rows.append(f'<li><a href="#f{file.number}">{escape(file.display)}</a>{count}</li>')
    return f'<nav aria-label="Files"><ul>{"".join(rows)}</ul></nav>\n'


def _chip(tint: Tint, count: int) -> str:
    plural = "value" if count == 1 else "values"
    return (
        f'<button class="chip {tint.name}" data-tint="{tint.name}" aria-pressed="false" '
        f'title="{escape(tint.meaning)}; {count} {plural}">{escape(tint.label)}</button>'
    )


class _File:
    """One file of the page; the ids of its lines begin with its number."""

    def __init__(self, number: int, look: Look) -> None:
        assert look.source is not None
        self.number = number
        self.display = look.source.display
        self.seen = look.facts.occurrences
        self.diagnostics = look.result.diagnostics
        self.numbering = Numbering(look.source)
        self.lines = self.numbering.lines

    def link(self, line: int) -> str:
        """The address of a line within the page."""
        return f"#f{self.number}l{line}"

    def section(self, first: int, files: Mapping[str, _File]) -> str:
        """Return the file as HTML; its values are numbered from `first`."""
        below: dict[int, list[Diagnostic]] = {}
        for diagnostic in self.diagnostics:
            below.setdefault(diagnostic.place.line, []).append(self.numbering.advice(diagnostic))
        begun: set[int] = set()
        wrong = self._wrong()
        notes = self._notes()
        rows = []
        for line, runs in enumerate(runs_of(self.lines, self.seen), start=1):
            code = "".join(self._runs(runs, line, first, begun, wrong))
            cell = self.numbering.begins(line)
            if cell is not None:
                rows.append(f'<h3 class="cell">cell {cell.number}</h3>\n')
            link, number = self.link(line), self.numbering.number(line)
            rows.append(
                f'<div class="row" id="{link[1:]}"><a href="{link}" tabindex="-1">{number}</a>'
                f'<span class="code">{code}</span>{notes.get(line, "")}</div>\n'
            )
            rows.extend(_finding(diagnostic, files) for diagnostic in below.get(line, ()))
        heading = f"<h2>{escape(self.display)}</h2>\n" if len(files) > 1 else ""
        return f'<section id="f{self.number}">\n{heading}<div class="source">\n{"".join(rows)}</div>\n</section>\n'

    def _runs(
        self,
        runs: Sequence[Run],
        line: int,
        first: int,
        begun: set[int],
        wrong: Mapping[int, list[tuple[int, int, str]]],
    ) -> Iterator[str]:
        column = 0
        for run in runs:
            for text, severity in _split(run.text, column, wrong.get(line, ())):
                shown = escape(text)
                if severity:
                    shown = f'<span class="underlined {severity}">{shown}</span>'
                if run.value is not None:
                    seen = self.seen[run.value]
                    attributes = f'class="v {tint_of(seen).name}" data-v="{first + run.value}"'
                    if run.value not in begun:
                        begun.add(run.value)
                        focus = 0 if first + len(begun) == 1 else -1
                        label = escape(f"{self._name(seen)}: {_kind(seen)} on {seen.text}")
                        attributes += f' tabindex="{focus}" role="button" aria-label="{label}"'
                    shown = f"<span {attributes}>{shown}</span>"
                elif run.syntax:
                    shown = f'<span class="{run.syntax}">{shown}</span>'
                yield shown
            column += len(run.text)

    def _wrong(self) -> dict[int, list[tuple[int, int, str]]]:
        """Return what findings speak of, by line: their labels, or else the whole place."""
        found: dict[int, list[tuple[int, int, str]]] = {}
        for diagnostic in self.diagnostics:
            places = [label.place for label in diagnostic.labels if label.place.file == self.display]
            for place in places or [diagnostic.place]:
                for line, start, end in stretches(place, self.lines):
                    found.setdefault(line, []).append((start, end, diagnostic.severity.value))
        return found

    def _notes(self) -> dict[int, str]:
        """Return what each line binds, as the end of the line says it."""
        notes: dict[int, list[str]] = {}
        for each in self.seen:
            if each.binds:
                text = f'<span class="{tint_of(each).name}">{escape(each.text)}</span>'
                entries = notes.setdefault(each.place.line, [])
                if text not in entries:
                    entries.append(text)
        return {
            line: f'<span class="notes" aria-hidden="true">{"".join(texts)}</span>' for line, texts in notes.items()
        }

    def _name(self, seen: Occurrence) -> str:
        """Return the expression that has the value, in one line and shortened."""
        text = " ".join(
            self.lines[line - 1][start:end].strip() for line, start, end in stretches(seen.place, self.lines)
        )
        return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"

    def values(self, files: Mapping[str, _File]) -> Iterator[Mapping[str, object]]:
        """Yield what the page says of each value."""
        for seen in self.seen:
            yield {
                "name": self._name(seen),
                "kind": _kind(seen),
                "text": seen.text,
                "tint": tint_of(seen).name,
                "story": [
                    {"what": step.what, **_reference(step.place, files), "code": _code_at(step.place, files)}
                    for step in seen.trace
                ],
            }


def _kind(seen: Occurrence) -> str:
    if seen.kind == "device":
        return "names a device"
    return f"{seen.kind} {seen.of}".strip()


def _reference(place: Place, files: Mapping[str, _File]) -> dict[str, str]:
    file = files.get(place.file)
    if file is None:
        return {"at": f"{place.file}:{place.line}"}
    words = file.numbering.words(place.line)
    return {
        "at": words if len(files) == 1 else f"{place.file}, {words}",
        "link": file.link(place.line),
    }


def _code_at(place: Place, files: Mapping[str, _File]) -> str:
    file = files.get(place.file)
    return file.lines[place.line - 1].strip() if file is not None and place.line <= len(file.lines) else ""


def _split(text: str, column: int, wrong: Sequence[tuple[int, int, str]]) -> Iterator[tuple[str, str]]:
    """Cut a run where what a finding speaks of begins or ends; each part with the severity, or ""."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or _severity(column + end, wrong) != _severity(column + start, wrong):
            yield text[start:end], _severity(column + start, wrong)
            start = end


def _severity(column: int, wrong: Sequence[tuple[int, int, str]]) -> str:
    found = {severity for start, end, severity in wrong if start <= column < end}
    return "error" if "error" in found else "".join(found)


def _finding(diagnostic: Diagnostic, files: Mapping[str, _File]) -> str:
    parts = [f"<p><b>{diagnostic.code}</b> {marked(diagnostic.message)}</p>"]
    steps = []
    for related in diagnostic.related:
        reference = _reference(related.place, files)
        at = escape(reference["at"])
        at = f'<a href="{reference["link"]}">{at}</a>' if "link" in reference else at
        steps.append(f"<li>{marked(related.message)}, {at}</li>")
    if steps:
        parts.append(f"<ul>{''.join(steps)}</ul>")
    if diagnostic.pytorch:
        parts.append(f'<p class="more">PyTorch says: {escape(diagnostic.pytorch)}</p>')
    if diagnostic.advice:
        parts.append(f'<p class="more">Help: {marked(diagnostic.advice)}</p>')
    return f'<div class="finding {diagnostic.severity.value}">{"".join(parts)}</div>\n'
