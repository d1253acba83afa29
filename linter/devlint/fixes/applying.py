"""Makes edits: text in, text out, and the same for the bytes of a file; outside the edits nothing changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from devlint.decoding import decode_exactly
from devlint.diagnostics import Edit
from devlint.errors import SourceError
from devlint.sources import MARKDOWN, NOTEBOOK, program_of
from devlint.sources.markdown import fences
from devlint.sources.notebook import cell_at, sources
from devlint.sources.rewriting import replaced

_LINE_END = re.compile(r"\r\n|\r|\n")


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with the edits made.

    Args:
        text: with its line ends as they are in the file; an insertion gets the line ends of its line.
        edits: in order, without overlap.

    Raises:
        ValueError: an edit is not within the text, or begins before the end of the one before it.
    """
    ends = list(_LINE_END.finditer(text))
    starts = [0, *(end.end() for end in ends)]
    lengths = [end.start() - start for start, end in zip(starts, ends, strict=False)]
    lengths.append(len(text) - starts[-1])

    def offset(line: int, column: int) -> int:
        if not (1 <= line <= len(starts) and 1 <= column <= lengths[line - 1] + 1):
            raise ValueError(f"line {line}, column {column} is not in the text")
        return starts[line - 1] + column - 1

    parts: list[str] = []
    done = 0
    for edit in edits:
        place = edit.place
        start, end = offset(place.line, place.column), offset(place.end_line, place.end_column)
        if not done <= start <= end:
            raise ValueError(f"the edit in line {place.line}, column {place.column} is out of order")
        parts += [text[done:start], edit.text.replace("\n", _line_end_at(ends, place.line))]
        done = end
    return "".join([*parts, text[done:]])


def _line_end_at(ends: Sequence[re.Match[str]], line: int) -> str:
    """How a line ends, or the one before it if it is the last and has no end."""
    return ends[min(line, len(ends)) - 1][0] if ends else "\n"


def moved(text: str, edits: Sequence[Edit], line: int, column: int) -> tuple[tuple[int, int], ...]:
    """Return where a position of the text is after the edits, as lines and columns.

    A position at which an edit inserts text has two places: before and after the insertion.

    Args:
        text: with `\\n` for every line end.
        edits: as for `apply`.
        line, column: the position.
    """
    lines = text.split("\n")

    def offset(line: int, column: int) -> int:
        return sum(len(before) + 1 for before in lines[: line - 1]) + column - 1

    after = apply(text, edits)
    here = offset(line, column)
    shifts = {False: 0, True: 0}
    for edit in edits:
        start, end = (
            offset(edit.place.line, edit.place.column),
            offset(edit.place.end_line, edit.place.end_column),
        )
        for at_once in shifts:
            if start < here or (at_once and start == end == here):
                shifts[at_once] += len(edit.text) - (min(end, here) - start)
    found = dict.fromkeys(here + shift for shift in shifts.values())
    return tuple((after.count("\n", 0, at) + 1, at - (after.rfind("\n", 0, at) + 1) + 1) for at in found)


def apply_to_bytes(data: bytes, edits: Sequence[Edit], display: str) -> bytes:
    """Return the bytes of a source file with the edits made, in the encoding that the file has.

    Raises:
        SourceError: the bytes cannot be decoded, or decoding and encoding them does not give them back.
        ValueError: the edits do not fit.
    """
    text, encoding = decode_exactly(data, display)
    if text.encode(encoding) != data:
        raise SourceError(
            f"cannot be fixed: {encoding} does not give back the bytes that it was read from", path=display
        )
    fixed = _apply_to_program(text, edits, display)
    after = fixed.encode(encoding)
    if decode_exactly(after, display) != (fixed, encoding):
        raise SourceError(f"cannot be fixed: the fixed text would not be {encoding} any more", path=display)
    return after


def _apply_to_program(text: str, edits: Sequence[Edit], display: str) -> str:
    """Return the text of a file with edits of the program that it holds.

    Raises:
        ValueError: the edits do not fit, or belong to a stretch that is not of the program.
    """
    if display.endswith(NOTEBOOK):
        return _apply_to_cells(text, edits, display)
    if display.endswith(MARKDOWN):
        within = {line for start, end in fences(text.split("\n")) for line in range(start + 1, end + 1)}
        _refuse(edit for edit in edits if edit.place.line not in within)
    return apply(text, edits)


def _apply_to_cells(text: str, edits: Sequence[Edit], display: str) -> str:
    program, written = program_of(text, display), sources(text, display)
    _refuse(edit for edit in edits if cell_at(program.cells, edit.place.line) is None)
    changed: dict[int, str] = {}
    for cell in program.cells:
        before = cell.first - 1
        own = [edit for edit in edits if cell_at(program.cells, edit.place.line) == cell]
        source = written[cell.number]
        # Before a magic of the whole cell nothing may stand, and below one of another language stands no Python.
        _refuse(edit for edit in own if not cell.is_python or (edit.place.line == cell.first and source[:2] == "%%"))
        if own:
            changed[cell.number] = apply(source, [_shifted(edit, before) for edit in own])
    return replaced(text, changed)


def _refuse(edits: Iterable[Edit]) -> None:
    for edit in edits:
        raise ValueError(f"line {edit.place.line} belongs to no code that may change")


def _shifted(edit: Edit, lines: int) -> Edit:
    place = replace(edit.place, line=edit.place.line - lines, end_line=edit.place.end_line - lines)
    return Edit(place, edit.text)
