"""What an analysis says in the words of the protocol: diagnostics, hovers, hints and actions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from lsprotocol import types

from devlint.diagnostics import Diagnostic, Edit, Place, Related, Safety, Severity
from devlint.domain.device import UnknownDevice, quoted
from devlint.editor.jobs import Findings
from devlint.editor.texts import Texts
from devlint.facts import Occurrence, Step
from devlint.fixes import choose
from devlint.quoting import printable, printable_lines
from devlint.suppressions import insertion_for

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}


def diagnostics(findings: Findings, texts: Texts) -> list[types.Diagnostic]:
    """Return the diagnostics of a document; a file that cannot be read is reported in its first line."""
    problem = findings.result.problem
    if problem is not None:
        start = types.Position((problem.line or 1) - 1, 0)
        where = types.Range(start, start)
        return [types.Diagnostic(where, printable(problem.message), types.DiagnosticSeverity.Error, source="devlint")]
    shown = (diagnostic(one, findings.pages, texts) for one in findings.result.diagnostics)
    return [one for one in shown if one is not None]


class Located(Protocol):
    """Texts in which places of an analysis can be found."""

    def range(self, place: Place) -> types.Range | None:
        """Return the range of a place; None if it cannot be found any more."""

    def location(self, place: Place) -> types.Location | None:
        """Return the range of a place with the address of its file; None as for `range`."""


def diagnostic(one: Diagnostic, pages: Mapping[str, str], texts: Located) -> types.Diagnostic | None:
    """Return a diagnostic for the client; None if the lines that it is about have changed.

    Args:
        one: the diagnostic.
        pages: the addresses of the rules' documentation, by code.
        texts: the texts that it is about.
    """
    where = texts.range(one.place)
    if where is None:
        return None
    parts = [one.message]
    if one.pytorch:
        parts.append(f"PyTorch says: {one.pytorch}")
    if one.advice:
        parts.append(f"Help: {one.advice}")
    related = ((texts.location(each.place), printable(_note(each, one.related))) for each in one.related)
    page = pages.get(one.code)
    return types.Diagnostic(
        range=where,
        message=printable_lines("\n".join(parts)),
        severity=SEVERITIES[one.severity],
        code=one.code,
        code_description=None if page is None else types.CodeDescription(page),
        source="devlint",
        related_information=[
            types.DiagnosticRelatedInformation(location, message)
            for location, message in related
            if location is not None
        ],
    )


def _note(one: Related, every: Collection[Related]) -> str:
    """Return a note, behind the name of its value if the notes are about several: an editor shows no source with it."""
    several = len({each.value for each in every if each.value}) > 1
    return f"{quoted(one.value)}: {one.message}" if several and one.value else one.message


# --- hover and hints ----------------------------------------------------------------------------------------


def hover(findings: Findings, texts: Texts, position: types.Position) -> types.Hover | None:
    """Return the device of the value at a position, and how it got there."""
    found = _at(findings, texts, position)
    if found is None:
        return None
    where, place, seen = found
    of = f" `{seen.of}`" if seen.of else ""
    what = "names a device:" if seen.kind == "device" else f"{seen.kind}{of} on"
    rows = [f"`{_text(place, texts)}`: {what} **{seen.text}**"]
    for step in seen.trace:
        line = texts.line(step.place.file, step.place.line)
        link = "" if line is None else f", [line {line}]({texts.uri(step.place.file)}#L{line})"
        rows.append(f"* {step.what}{link}")
    if all(isinstance(device, UnknownDevice) for device in seen.devices):
        rows.append("devlint does not know where it is, and says nothing about it")
    text = f"{rows[0]}\n\n" + "\n".join(rows[1:])
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, printable_lines(text.strip())), where)


def _at(findings: Findings, texts: Texts, position: types.Position) -> tuple[types.Range, Place, Occurrence] | None:
    """Return the value whose own text is at a position, with the places of both; of nested ones, the innermost."""
    found: list[tuple[types.Position, types.Position, Occurrence]] = []
    for seen in findings.occurrences:
        anchor = texts.place(seen.anchor)
        if anchor is not None and anchor.line - 1 <= position.line <= anchor.end_line - 1:
            where = texts.range(seen.anchor)
            if where is not None and where.start <= position <= where.end:
                found.append((where.start, where.end, seen))
    inner = [one for one in found if not any(_within(other, one) for other in found)]
    if not inner:
        return None
    # Where one ends and the next begins, the editor means the one that begins.
    start, end, seen = max(inner, key=lambda one: one[0])
    place = texts.place(seen.place)
    return None if place is None else (types.Range(start, end), place, seen)


def _within(
    inner: tuple[types.Position, types.Position, Occurrence], outer: tuple[types.Position, types.Position, Occurrence]
) -> bool:
    return inner is not outer and outer[0] <= inner[0] and inner[1] <= outer[1] and inner[:2] != outer[:2]


def _text(place: Place, texts: Texts, most: int = 60) -> str:
    lines = texts.lines(place.file)[place.line - 1 : place.end_line]
    if not lines:
        return ""
    end = place.end_column - 1 if place.end_line == place.line else None
    text = lines[0][place.column - 1 : end].replace("`", "'")
    text = text if place.end_line == place.line else f"{text} …"
    return text if len(text) <= most else text[: most - 1] + "…"


def hints(findings: Findings, texts: Texts, wanted: types.Range) -> Iterator[types.InlayHint]:
    """Yield where names live, behind the places where they are bound."""
    for seen in findings.occurrences:
        if not seen.binds or all(isinstance(device, UnknownDevice) for device in seen.devices):
            continue
        where = texts.range(seen.anchor)
        if where is not None and wanted.start.line <= where.end.line <= wanted.end.line:
            tooltip = printable("; ".join(_step(step, texts) for step in seen.trace)) or None
            yield types.InlayHint(where.end, printable(f": {seen.text}"), types.InlayHintKind.Type, tooltip=tooltip)


def _step(step: Step, texts: Texts) -> str:
    line = texts.line(step.place.file, step.place.line)
    return step.what if line is None else f"{step.what} (line {line})"


# --- actions ------------------------------------------------------------------------------------------------


def actions(
    findings: Findings, texts: Texts, file: str, wanted: types.Range, *, versioned: bool
) -> Iterator[types.CodeAction]:
    """Yield the actions for the diagnostics in a range: their fixes, and comments that silence them.

    Args:
        findings: the last findings in the document.
        texts: the texts that the findings are in, and as they are now.
        file: the document, as shown to the user.
        wanted: the range.
        versioned: the client understands edits of one version of a document, and makes them in no other.
    """
    text = "\n".join(texts.lines(file))
    for one in findings.result.diagnostics:
        place, shown = texts.place(one.place), diagnostic(one, findings.pages, texts)
        if place is None or shown is None or shown.range.end < wanted.start or wanted.end < shown.range.start:
            continue
        edits = None if one.fix is None else _edits(one.fix.edits, texts)
        if one.fix is not None and edits is not None:
            yield types.CodeAction(
                title=printable(f"{one.code}: {one.fix.message}"),
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[shown],
                is_preferred=one.fix.safety is Safety.SAFE,
                edit=_workspace_edit(edits, file, texts, versioned),
            )
        comment = insertion_for(text, replace(one, place=place))
        if comment is not None:
            here = texts.position(file, comment.line, comment.column)
            insertion = types.TextEdit(types.Range(here, here), comment.text([one.code]))
            yield types.CodeAction(
                title=f"{one.code}: suppress on this line",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[shown],
                edit=_workspace_edit([insertion], file, texts, versioned),
            )


FIX_ALL = "source.fixAll.devlint"
"""The kind of the action that makes all safe fixes of a document; a client asks for it, for example at each save."""


def fix_all(findings: Findings, texts: Texts, file: str, *, versioned: bool) -> types.CodeAction | None:
    """Return the action that makes all safe fixes of a document that go together; None if there is none.

    A fix of a line that has changed since the analysis is left out.

    Args:
        findings: the last findings in the document.
        texts: the texts that the findings are in, and as they are now.
        file: the document, as shown to the user.
        versioned: see `actions`.
    """
    current = [one for one in findings.result.diagnostics if one.fix is not None and _edits(one.fix.edits, texts)]
    edits = _edits(choose(current, unsafe=False).edits, texts)
    if not edits:
        return None
    return types.CodeAction(
        title="devlint: make all safe fixes", kind=FIX_ALL, edit=_workspace_edit(edits, file, texts, versioned)
    )


def _edits(wanted: Iterable[Edit], texts: Texts) -> list[types.TextEdit] | None:
    """Return edits for the client; None if one of the lines that they are for has changed."""
    edits: list[types.TextEdit] = []
    for edit in wanted:
        where = texts.range(edit.place)
        if where is None:
            return None
        edits.append(types.TextEdit(where, edit.text))
    return edits


def _workspace_edit(edits: list[types.TextEdit], file: str, texts: Texts, versioned: bool) -> types.WorkspaceEdit:
    uri = texts.uri(file)
    if not versioned:
        return types.WorkspaceEdit({uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri, texts.version(file))
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])
