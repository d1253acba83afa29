"""What an analysis says in the words of the protocol: diagnostics, hovers, hints and actions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from lsprotocol import types

from devlint.diagnostics import Diagnostic, Fix, Place, Safety, Severity
from devlint.domain.device import UnknownDevice
from devlint.editor.analyses import Analysis
from devlint.editor.texts import Texts
from devlint.facts import Occurrence
from devlint.quoting import printable, printable_lines
from devlint.registry import load_rules
from devlint.suppressions import suppressing_comment

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
}


def diagnostics(analysis: Analysis) -> list[types.Diagnostic]:
    """Return what is reported of a document; a file that cannot be read is reported in its first line."""
    problem = analysis.look.result.problem
    if problem is not None:
        start = types.Position((problem.line or 1) - 1, 0)
        where = types.Range(start, start)
        return [types.Diagnostic(where, printable(problem.message), types.DiagnosticSeverity.Error, source="devlint")]
    return [_diagnostic(one, analysis.texts) for one in analysis.look.result.diagnostics]


def _diagnostic(one: Diagnostic, texts: Texts) -> types.Diagnostic:
    parts = [one.message]
    if one.pytorch:
        parts.append(f"PyTorch says: {one.pytorch}")
    if one.advice:
        parts.append(f"Help: {one.advice}")
    related = [
        types.DiagnosticRelatedInformation(texts.location(each.place), printable(each.message)) for each in one.related
    ]
    page = _documentation().get(one.code)
    return types.Diagnostic(
        range=texts.range(one.place),
        message=printable_lines("\n".join(parts)),
        severity=SEVERITIES[one.severity],
        code=one.code,
        code_description=None if page is None else types.CodeDescription(page),
        source="devlint",
        related_information=related,
    )


@cache
def _documentation() -> Mapping[str, str]:
    """Return where the rules are documented, by code: in the files of their classes."""
    files = {rule.code: inspect.getsourcefile(rule) for rule in load_rules()}
    return {code: Path(file).as_uri() for code, file in files.items() if file is not None}


# --- hover and hints ----------------------------------------------------------------------------------------


def hover(analysis: Analysis, position: types.Position) -> types.Hover | None:
    """Return the device of the value at a position, and how it got there."""
    seen = _at(analysis, position)
    if seen is None:
        return None
    texts = analysis.texts
    of = f" `{seen.of}`" if seen.of else ""
    what = "names a device:" if seen.kind == "device" else f"{seen.kind}{of} on"
    rows = [f"`{_text(seen.place, texts)}`: {what} **{seen.text}**"]
    for step in seen.trace:
        where = f"[line {step.place.line}]({texts.uri(step.place.file)}#L{step.place.line})"
        rows.append(f"* {step.what}, {where}")
    if all(isinstance(device, UnknownDevice) for device in seen.devices):
        rows.append("devlint does not know where it is, and says nothing about it")
    text = f"{rows[0]}\n\n" + "\n".join(rows[1:])
    return types.Hover(
        types.MarkupContent(types.MarkupKind.Markdown, printable_lines(text.strip())), texts.range(seen.anchor)
    )


def _at(analysis: Analysis, position: types.Position) -> Occurrence | None:
    """Return the value whose own text is at a position; of nested ones, the innermost."""
    found: list[tuple[types.Position, types.Position, Occurrence]] = []
    for seen in analysis.look.facts.occurrences:
        if seen.anchor.line - 1 <= position.line <= seen.anchor.end_line - 1:
            where = analysis.texts.range(seen.anchor)
            if where.start <= position <= where.end:
                found.append((where.start, where.end, seen))
    inner = [one for one in found if not any(_within(other, one) for other in found)]
    # Where one ends and the next begins, the editor means the one that begins.
    return max(inner, key=lambda one: one[0])[2] if inner else None


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


def hints(analysis: Analysis, wanted: types.Range) -> Iterator[types.InlayHint]:
    """Yield where names live, behind the places where they are bound."""
    for seen in analysis.look.facts.occurrences:
        if not seen.binds or all(isinstance(device, UnknownDevice) for device in seen.devices):
            continue
        if wanted.start.line <= seen.anchor.end_line - 1 <= wanted.end.line:
            end = analysis.texts.range(seen.anchor).end
            yield types.InlayHint(end, printable(f": {seen.text}"), types.InlayHintKind.Type, tooltip=_tooltip(seen))


def _tooltip(seen: Occurrence) -> str | None:
    return printable("; ".join(f"{step.what} (line {step.place.line})" for step in seen.trace)) or None


# --- actions ------------------------------------------------------------------------------------------------


def actions(analysis: Analysis, file: str, wanted: types.Range) -> Iterator[types.CodeAction]:
    """Yield what can be done about the diagnostics in a range: their fixes, and comments that silence them."""
    texts = analysis.texts
    text = "\n".join(texts.lines(file))
    for one in analysis.look.result.diagnostics:
        where = texts.range(one.place)
        if where.end < wanted.start or wanted.end < where.start:
            continue
        shown = [_diagnostic(one, texts)]
        if one.fix is not None:
            yield types.CodeAction(
                title=printable(f"{one.code}: {one.fix.message}"),
                kind=types.CodeActionKind.QuickFix,
                diagnostics=shown,
                is_preferred=one.fix.safety is Safety.SAFE,
                edit=_edit(one.fix, file, texts),
            )
        comment = suppressing_comment(text, one)
        if comment is not None:
            line, column, words = comment
            here = texts.position(file, line, column)
            yield types.CodeAction(
                title=f"{one.code}: suppress on this line",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=shown,
                edit=types.WorkspaceEdit({texts.uri(file): [types.TextEdit(types.Range(here, here), words)]}),
            )


def _edit(fix: Fix, file: str, texts: Texts) -> types.WorkspaceEdit:
    edits = [types.TextEdit(texts.range(edit.place), edit.text) for edit in fix.edits]
    return types.WorkspaceEdit({texts.uri(file): edits})
