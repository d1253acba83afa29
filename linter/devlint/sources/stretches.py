"""Where the sources of cells stand in the text of a notebook, which the decoder of JSON does not say."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from itertools import accumulate

from devlint.records import dataclass

LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line in the source of a cell."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where the source of a cell stands: a string, or a list of strings.

    Attributes:
        start, end: of the string or the list.
        lines: start and end of each string.
    """

    start: int
    end: int
    lines: tuple[tuple[int, int], ...]


def rows_of(text: str, numbers: Container[int]) -> dict[int, tuple[int, ...]]:
    """Return by cell, for each line of its source, the line of the file in which it begins, from 1.

    Args:
        text: the notebook.
        numbers: the cells, by their positions from 1; their sources are strings, or lists of strings.
    """
    found: dict[int, tuple[int, ...]] = {}
    row, counted = 1, 0
    for number, stretch in enumerate(stretches_of(text), start=1):
        if number not in numbers:
            continue
        pieces: list[str] = []
        rows: list[int] = []
        for start, _ in () if stretch is None else stretch.lines:
            row, counted = row + text.count("\n", counted, start), start
            pieces.append(_DECODER.raw_decode(text, start)[0])
            rows.append(row)
        source = "".join(pieces)
        ends = [*accumulate(map(len, pieces))]
        begins = [0, *(end.end() for end in LINE_END.finditer(source))]
        last = max(len(rows) - 1, 0)
        found[number] = tuple([*rows, row][min(bisect_right(ends, begin), last)] for begin in begins)
    return found


def stretches_of(text: str) -> Iterator[Stretch | None]:
    """Yield where the source of each cell stands, in order; None for a cell without one.

    Of two members with one name, the last one counts, as for `json`.
    """
    (*_, listed) = (start for key, start, _ in _members(text, _skip_blank(text, 0)) if key == "cells")
    for cell, _ in _elements(text, listed):
        found: Stretch | None = None
        for name, value, end in _members(text, cell):
            if name == "source":
                lines = tuple(_elements(text, value)) if text[value] == "[" else ((value, end),)
                found = Stretch(value, end, lines)
        yield found


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the members of the object that begins at `start`: key, and where its value begins and ends."""
    at = _skip_blank(text, start + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        value = _skip_blank(text, _skip_blank(text, at) + 1)
        at = _end_of(text, value)
        yield key, value, at
        at = _skip_blank(text, at)
        if text[at] != ",":
            return
        at = _skip_blank(text, at + 1)


def _elements(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where the elements of the list that begins at `start` begin and end."""
    at = _skip_blank(text, start + 1)
    while text[at] != "]":
        end = _end_of(text, at)
        yield at, end
        at = _skip_blank(text, end)
        if text[at] == ",":
            at = _skip_blank(text, at + 1)


_DECODER = json.JSONDecoder()


def _end_of(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]


def _skip_blank(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
