"""What lines are called: by their number in the file, or in a notebook by cell and number in the cell."""

from __future__ import annotations

from dataclasses import replace

from devlint.decoding import lines_of
from devlint.diagnostics import Diagnostic
from devlint.project import Source
from devlint.sources.notebook import cell_at
from devlint.sources.places import worded
from devlint.sources.program import Cell


class Numbering:
    """The lines of one file, as their author sees them, and their names; lines are those of the program."""

    def __init__(self, source: Source) -> None:
        self._cells = source.cells
        lines = lines_of(source.original)
        self.lines = lines[:-1] if lines and not lines[-1] else lines

    def number(self, line: int) -> int:
        """Return the number that stands before a line."""
        cell = cell_at(self._cells, line)
        return line if cell is None else line - cell.first + 1

    def begins(self, line: int) -> Cell | None:
        """Return the cell whose first line it is."""
        return next((cell for cell in self._cells if cell.first == line), None)

    def advice(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic whose advice speaks of lines in these words; its places stay those of the program."""
        advice = diagnostic.advice
        return diagnostic if advice is None else replace(diagnostic, advice=worded(advice, self._cells))

    def words(self, line: int) -> str:
        """Return a line in words: `line 7`, `cell 3, line 7`."""
        cell = cell_at(self._cells, line)
        return f"line {line}" if cell is None else f"cell {cell.number}, line {self.number(line)}"
