"""Source lines with stretches underlined and labelled, whatever tabs and wide characters stand in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from devlint.diagnostics import Place
from devlint.quoting import printable
from devlint.records import dataclass

Paint: TypeAlias = Callable[[str], str]
ReadLine: TypeAlias = Callable[[int], str | None]

TAB = 4
MAX_WIDTH = 160
"""Wider lines are cut around the underlined part."""

_BEFORE = 20
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of one line, from `start` to before `end` in code points from 0, and the words under it."""

    line: int
    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Columns:
    """A mark as it stands on the terminal."""

    start: int
    end: int
    text: str


def marks_of(place: Place, text: str, read_line: ReadLine) -> list[Mark]:
    """Return what to underline for a place: its first line, and the last one if it has several."""
    first = read_line(place.line)
    if first is None:
        return []
    if place.end_line <= place.line:
        return [Mark(place.line, place.column - 1, max(place.end_column - 1, place.column), text)]
    marks = [Mark(place.line, place.column - 1, max(len(first.rstrip()), place.column), text)]
    last = read_line(place.end_line)
    if last is not None and not text:
        indent = len(last) - len(last.lstrip())
        if place.end_column - 1 > indent:
            marks.append(Mark(place.end_line, indent, place.end_column - 1))
    return marks


def excerpt(marks: Sequence[Mark], read_line: ReadLine, gutter: int, frame: Paint, underline: Paint) -> list[str]:
    """Render the marked lines in order, each with its underlines; other lines between two are elided."""
    bar = frame(f"{' ' * gutter} |")
    rows: list[str] = [bar]
    previous: int | None = None
    for number in sorted({mark.line for mark in marks}):
        text = read_line(number)
        if text is None:
            continue
        if previous is not None and number > previous + 1:
            rows.append(frame("..."))
        shown, columns = _fit(text, [mark for mark in marks if mark.line == number])
        rows.append(f"{frame(f'{number:>{gutter}} |')} {shown}".rstrip())
        rows.extend(f"{bar} {underline(row)}" for row in _underlines(columns))
        previous = number
    return rows if len(rows) > 1 else []


def _underlines(marks: Sequence[_Columns]) -> list[str]:
    """Draw the rows below a line: carets with the last label behind them, the other labels hanging below."""
    width = max(mark.end for mark in marks)
    carets = [" "] * width
    for mark in marks:
        carets[mark.start : mark.end] = "^" * (mark.end - mark.start)
    last = max(marks, key=lambda mark: (mark.end, mark.start))
    rows = ["".join(carets) + (f" {last.text}" if last.text else "")]
    hanging: dict[int, list[str]] = {}
    for mark in marks:
        if mark is not last and mark.text:
            hanging.setdefault(mark.start, []).append(mark.text)
    starts = sorted(hanging)
    if starts:
        rows.append(_bars(starts))
    while starts:
        start = starts.pop()
        rows.append(_bars(starts).ljust(start) + ", ".join(hanging[start]))
    return rows


def _bars(starts: Iterable[int]) -> str:
    row = ""
    for start in starts:
        row = row.ljust(start) + "|"
    return row


def _fit(line: str, marks: Sequence[Mark]) -> tuple[str, list[_Columns]]:
    """Return the line as shown, cut if it is too wide, and the marks in columns of the terminal."""
    cells, offsets = _layout(line)

    def column(index: int) -> int:
        beyond = max(index - len(line), 0)
        return offsets[min(index, len(line))] + beyond

    placed = [
        _Columns(column(mark.start), max(column(mark.end), column(mark.start) + 1), printable(mark.text))
        for mark in marks
    ]
    if offsets[-1] <= MAX_WIDTH:
        return "".join(cells), placed
    first = min(mark.start for mark in placed)
    left = 0 if max(mark.end for mark in placed) <= MAX_WIDTH else max(first - _BEFORE, 0)
    kept = [index for index in range(len(line)) if left <= offsets[index] and offsets[index + 1] <= left + MAX_WIDTH]
    origin = offsets[kept[0]] if kept else left
    shown = "".join(cells[index] for index in kept)
    shift = origin
    if left:
        shown, shift = _ELLIPSIS + shown, origin - 1
    if kept and kept[-1] < len(line) - 1:
        shown += _ELLIPSIS
    limit = MAX_WIDTH + 1
    clipped = [
        _Columns(start, max(min(mark.end - shift, limit), start + 1), mark.text)
        for mark in placed
        for start in [min(max(mark.start - shift, 0), limit)]
    ]
    return shown, clipped


def _layout(line: str) -> tuple[list[str], list[int]]:
    """Return the printed form of each character and the column of its start; the last column is the end."""
    cells: list[str] = []
    offsets = [0]
    for character in line:
        if character == "\t":
            width = TAB - offsets[-1] % TAB
            cell = " " * width
        else:
            cell = printable(character)
            width = sum(map(_width, cell))
        cells.append(cell)
        offsets.append(offsets[-1] + width)
    return cells, offsets


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
