"""Notebooks: the code cells in order as one program, and edits of that program as edits of the notebook."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

from devlint.errors import SourceError
from devlint.records import dataclass
from devlint.sources import Cell, Program
from devlint.sources.magics import without_magics

_Table: TypeAlias = "dict[str, object]"


def read(text: str, display: str) -> Program:
    """Return the program of a notebook: what its code cells hold, in order, each ended by a line end.

    A notebook of another language is a program without a line. Shell lines and magics are replaced.

    Raises:
        SourceError: the text is no notebook in the format of Jupyter 4 or later.
    """
    document = _document(text, display)
    if not _is_python(document):
        return Program("", "")
    plain: list[str] = []
    original: list[str] = []
    cells: list[Cell] = []
    line = 1
    for number, source in _code_cells(document, display):
        code = without_magics(source)
        lines = source.count("\n") + 1
        cells.append(Cell(number, line, lines, is_python=code is not None))
        plain.append("\n" * (lines - 1) if code is None else code)
        original.append(source)
        line += lines
    return Program("".join(f"{each}\n" for each in plain), "".join(f"{each}\n" for each in original), tuple(cells))


def _document(text: str, display: str) -> _Table:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"is no notebook: {error.msg}", path=display, line=error.lineno) from error
    except RecursionError as error:
        raise SourceError("is no notebook: nested too deeply", path=display) from error
    except ValueError as error:  # a number with more digits than Python reads
        raise SourceError("is no notebook: a number is too long", path=display) from error
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        older = isinstance(document, dict) and "worksheets" in document
        reason = (
            "is a notebook in a format before 4, which Jupyter converts when it opens it" if older else "is no notebook"
        )
        raise SourceError(reason, path=display)
    return document


def _is_python(document: _Table) -> bool:
    """Whether the kernel is one of Python, as far as the notebook says."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return True
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(table)
        if isinstance(entry, dict) and isinstance(entry.get(key), str):
            return str(entry[key]).lower() in ("python", "ipython", "python3")
    return True


def _code_cells(document: _Table, display: str) -> Iterator[tuple[int, str]]:
    """Yield the code cells with their positions among all cells, from 1."""
    cells = document["cells"]
    assert isinstance(cells, list)
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict):
            raise SourceError(f"is no notebook: cell {number} is no object", path=display)
        if cell.get("cell_type") == "code":
            yield number, _source_of(cell, number, display)


def _source_of(cell: _Table, number: int, display: str) -> str:
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise SourceError(f"is no notebook: the source of cell {number} is no text", path=display)
    return source.replace("\r\n", "\n").replace("\r", "\n")


# --- writing back -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Where a string or the list of the strings of a cell's source stands in the text of the notebook."""

    start: int
    end: int
    lines: tuple[tuple[int, int], ...]


def replaced(text: str, sources: dict[int, str]) -> str:
    """Return the text of a notebook with other sources for some cells, by their positions from 1.

    Only strings of source lines that have changed are written anew, in the form that the cell's other strings have;
    every other byte of the notebook, outputs and metadata among them, stays.
    """
    parts: list[str] = []
    done = 0
    for number, stretch in enumerate(_sources(text), start=1):
        if number in sources and stretch is not None:
            parts += [text[done : stretch.start], _rewritten(text, stretch, sources[number])]
            done = stretch.end
    return "".join([*parts, text[done:]])


def _rewritten(text: str, stretch: _Stretch, source: str) -> str:
    """The strings of one cell with another source."""
    escaped = text.isascii() and "\\u" in text
    if text[stretch.start] == '"':
        return json.dumps(source, ensure_ascii=escaped)
    lines = _lines(source)
    if not stretch.lines:
        return json.dumps(lines, ensure_ascii=escaped)
    before = [_DECODER.raw_decode(text, start)[0].replace("\r\n", "\n") for start, _ in stretch.lines]
    if before[-1] == "":
        lines.append("")
    strings = [json.dumps(line, ensure_ascii=escaped) for line in lines]
    head, tail = text[stretch.start : stretch.lines[0][0]], text[stretch.lines[-1][1] : stretch.end]
    gaps = [text[one[1] : other[0]] for one, other in pairwise(stretch.lines)]
    usual = gaps[0] if gaps else f",{head[1:]}" if "\n" in head else ", "
    parts: list[str] = []
    for tag, first, last, start, end in SequenceMatcher(None, before, lines, autojunk=False).get_opcodes():
        for offset in range(end - start):
            index = first + offset
            is_old = index < last
            if parts:
                parts.append(gaps[index - 1] if is_old and index else usual)
            begin, stop = stretch.lines[index] if tag == "equal" else (0, 0)
            parts.append(text[begin:stop] if tag == "equal" else strings[start + offset])
    return head + "".join(parts) + tail


def _lines(source: str) -> list[str]:
    """Split as notebooks do: each line keeps its end."""
    *lines, last = source.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _sources(text: str) -> Iterator[_Stretch | None]:
    """Yield where the source of each cell stands, in order; None for a cell without one."""
    for key, start, _ in _members(text, _skip_blank(text, 0)):
        if key == "cells":
            for cell, _ in _elements(text, start):
                found: _Stretch | None = None
                for name, value, end in _members(text, cell):
                    if name == "source":
                        listed = text[value] == "["
                        lines = tuple(_elements(text, value)) if listed else ((value, end),)
                        found = _Stretch(value, end, lines)
                yield found
            return


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


def cell_at(cells: Sequence[Cell], line: int) -> Cell | None:
    """Return the cell that a line of the program belongs to."""
    return next((cell for cell in cells if cell.first <= line < cell.first + cell.lines), None)
