"""Notebooks: the code cells in order as one program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from devlint.errors import SourceError
from devlint.sources.magics import is_indented, without_magics
from devlint.sources.program import Cell, Program, parsed
from devlint.sources.stretches import LINE_END, rows_of

_Table: TypeAlias = "dict[str, object]"


def read(text: str, display: str) -> Program:
    """Return the program of a notebook: what its code cells hold, in order, each ended by a line end.

    A notebook of another language is a program without a line. Shell lines and magics are replaced; an indented cell
    becomes the body of a statement. A cell that Python cannot parse is left out: it does not run, and the others do.

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
    written = dict(_code_cells(document, display))
    rows = rows_of(text, written)
    sources = {number: LINE_END.sub("\n", as_written) for number, as_written in written.items()}
    codes = {number: without_magics(source) for number, source in sources.items()}
    broken = _broken(code for code in codes.values() if code is not None)
    for number, source in sources.items():
        code = codes[number]
        lines = source.count("\n") + 1
        unparsed = code if code in broken else None
        code = None if unparsed else code
        if code is not None and is_indented(code):
            plain.append(_HEADER)
            original.append("")
            line += 1
        is_python = code is not None or bool(unparsed)
        cells.append(Cell(number, line, lines, is_python=is_python, broken=unparsed or "", rows=rows[number]))
        plain.append("\n" * (lines - 1) if code is None else code)
        original.append(source)
        line += lines
    return Program("".join(f"{each}\n" for each in plain), "".join(f"{each}\n" for each in original), tuple(cells))


_HEADER = "if True:"
"""An indented cell keeps its columns as the body of this statement, on a line that belongs to no cell."""


def as_statements(code: str) -> str:
    """Return the code of a cell as Python reads it: with a line before it if it is indented."""
    return f"{_HEADER}\n{code}" if is_indented(code) else code


def _broken(codes: Iterable[str]) -> frozenset[str]:
    """Return those that Python cannot parse; each cell runs by itself."""
    statements = {code: as_statements(code) for code in codes}
    if parsed("\n".join(statements.values())) is not None:
        return frozenset()
    return frozenset(code for code, statement in statements.items() if parsed(statement) is None)


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


def sources(text: str, display: str) -> dict[int, str]:
    """Return the sources of the code cells, with the line ends that they have, by position among all cells from 1.

    Raises:
        SourceError: as for `read`.
    """
    return dict(_code_cells(_document(text, display), display))


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
    return source


def cell_at(cells: Sequence[Cell], line: int) -> Cell | None:
    """Return the cell that a line of the program belongs to."""
    return next((cell for cell in cells if cell.first <= line < cell.first + cell.lines), None)
