"""Places of a notebook's program as places in its cells, for the reader of a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from devlint.diagnostics import Diagnostic, Place
from devlint.sources.notebook import cell_at
from devlint.sources.program import Cell

CellsOf = Callable[[str], Sequence[Cell]]
"""The cells of a file as shown to the user; none for a file that is not a notebook."""

_LINE = re.compile(r"\bon line (\d+)\b")


def in_cells(diagnostic: Diagnostic, cells_of: CellsOf) -> Diagnostic:
    """Return the diagnostic with every place in terms of cells, also the lines that its advice speaks of."""
    cells = cells_of(diagnostic.place.file)
    placed = diagnostic.with_places(lambda place: in_cell(place, cells_of(place.file)))
    advice, fix = placed.advice, placed.fix
    return replace(
        placed,
        advice=None if advice is None else worded(advice, cells),
        fix=None if fix is None else replace(fix, message=worded(fix.message, cells)),
    )


def worded(text: str, cells: Sequence[Cell]) -> str:
    """Return advice with the lines that it speaks of in terms of cells."""
    return _LINE.sub(lambda match: _in_words(match, cells), text) if cells else text


def in_cell(place: Place, cells: Sequence[Cell]) -> Place:
    """Return a place of a program as one of the cell that it begins in; it ends there at the latest."""
    cell = cell_at(cells, place.line)
    if cell is None:
        return place
    before = cell.first - 1
    end_line, end_column = place.end_line, place.end_column
    if end_line >= cell.first + cell.lines:
        end_line, end_column = place.line, place.column + 1
    return Place(place.file, place.line - before, place.column, end_line - before, end_column, cell.number)


def _in_words(match: re.Match[str], cells: Sequence[Cell]) -> str:
    line = int(match[1])
    cell = cell_at(cells, line)
    return match[0] if cell is None else f"on line {line - cell.first + 1} of cell {cell.number}"
