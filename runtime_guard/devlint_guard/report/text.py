"""Findings as text, for a terminal, a note of an exception, a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devlint_guard.finding import Finding, Operand, Place, Role, ranks_named
from devlint_guard.frames import source_line
from devlint_guard.quoting import printable

_BOLD, _RED, _BLUE, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[34m", "\x1b[0m"

_LABEL = 9
"""The width of `history`, `path`, `help` and `silence`."""


def render_all(findings: Iterable[Finding], colour: bool = False) -> str:
    """Several findings, an empty line between two."""
    return "\n\n".join(render(finding, colour) for finding in findings)


def render(finding: Finding, colour: bool = False) -> str:
    """One finding: what, where with each operand marked, how it came about, what to change.

    Args:
        finding: it.
        colour: whether to write escape sequences for a terminal.
    """
    paint = _Paint(colour)
    lines = [_headline(finding, paint)]
    if finding.place is not None:
        lines += ["", *_excerpt(finding, finding.place, paint)]
    details = list(_details(finding))
    if details:
        lines += ["", *(f"  {paint(label.ljust(_LABEL), _BLUE)} {text}".rstrip() for label, text in details)]
    return "\n".join(lines if colour else map(printable, lines))


class _Paint:
    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, *codes: str) -> str:
        text = printable(text)
        return f"{''.join(codes)}{text}{_RESET}" if self._colour and text.strip() else text


def _headline(finding: Finding, paint: _Paint) -> str:
    rank = f"[{ranks_named(finding.ranks)}]" if finding.ranks else ""
    mark = paint(f"devlint{rank}: {finding.code}", _BOLD, _RED)
    often = f" ({finding.count} times)" if finding.count > 1 else ""
    maybe = " (suspect)" if finding.suspect else ""
    return f"{mark} {finding.name}{maybe}: {paint(finding.message, _BOLD)}{often}"


# --- the source ---------------------------------------------------------------------------------------------


def _excerpt(finding: Finding, place: Place, paint: _Paint) -> Iterator[str]:
    """The user's lines with a mark under each operand."""
    here = [operand for operand in finding.operands if _within(operand.place, place)]
    shown = _lines_to_show(finding, place)
    width = max(len(str(line)) for line in [*shown, place.line])
    where = f" in {place.function}" if place.function else ""
    yield f"  {paint('-->', _BLUE)} {place.file}:{place.line}{where}"
    before = None
    for line in shown:
        text = source_line(place.file, line)
        if before is not None and line > before + 1 and line - before > _GAP:
            yield paint("  " + "." * width, _BLUE)
        yield f"  {paint(str(line).rjust(width) + ' |', _BLUE)} {text}".rstrip()
        yield from _marks(text, [one for one in here if one.place and one.place.line == line], width, paint)
        before = line


_GAP = 3
"""Lines further apart than this are told apart by dots."""


def _lines_to_show(finding: Finding, place: Place) -> list[int]:
    """The line of the place and those of its operands; before them where the blamed one got its value."""
    lines = {place.line}
    for operand in finding.operands:
        if operand.place and _within(operand.place, place):
            lines.add(operand.place.line)
        lines |= {
            step.place.line
            for step in operand.history
            if step.place and (step.place.file, step.place.function) == (place.file, place.function)
        }
    return sorted(line for line in lines if source_line(place.file, line))


def _within(inner: Place | None, outer: Place) -> bool:
    if inner is None or inner.file != outer.file or not inner.column:
        return False
    return outer.line <= inner.line <= max(outer.end_line, outer.line)


def _marks(text: str, operands: list[Operand], width: int, paint: _Paint) -> Iterator[str]:
    """A line of carets for each operand, the leftmost first."""
    for operand in sorted(operands, key=lambda one: one.place.column if one.place else 0):
        place = operand.place
        assert place is not None
        end = place.end_column if place.end_line == place.line else len(text) + 1
        # A tab before the operand stays one, so that the mark is below it whatever a tab is.
        before = "".join("\t" if character == "\t" else " " for character in text[: place.column - 1])
        carets = "^" * max(end - place.column, 1)
        note = " on ".join(part for part in (operand.detail, operand.device) if part)
        yield (
            f"  {paint(' ' * width + ' |', _BLUE)} {before}{paint(carets, _RED if operand.blamed else _BLUE)} {note}"
        ).rstrip()


# --- what else there is to say ------------------------------------------------------------------------------


def _details(finding: Finding) -> Iterator[tuple[str, str]]:
    for operand in finding.operands:
        if not _within(operand.place, finding.place) if finding.place else True:
            yield "value", f"{_quoted(operand)} ({_what(operand)}) is on {operand.device}"
        elif operand.qualified and operand.qualified != operand.name:
            yield "value", f"{_quoted(operand)} is the {operand.role.value} {operand.qualified}"
    for operand in finding.operands:
        for index, step in enumerate(operand.history):
            where = "" if step.place is None else f"  {step.place.file}:{step.place.line}"
            inside = "" if step.place is None or not step.place.function else f" in {step.place.function}"
            yield "" if index else "history", f"{_quoted(operand)} {step.message}{where}{inside}"
    if finding.module:
        step_number = "" if finding.step is None else f", step {finding.step}"
        yield "path", f"{finding.module} ({finding.module_class}){step_number}"
    for index, text in enumerate(finding.help):
        yield "or" if index else "help", text
    yield "silence", f'with allow("{finding.code}", reason="…"):'


def _quoted(operand: Operand) -> str:
    return f"`{operand.name}`" if operand.name else "a value"


def _what(operand: Operand) -> str:
    parts = [operand.role.value]
    if operand.qualified and operand.qualified not in operand.name and operand.role is not Role.OPTIMIZER_STATE:
        parts.append(operand.qualified)
    if operand.detail:
        parts.append(operand.detail)
    return ", ".join(parts)
