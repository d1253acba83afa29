"""A file as one Python program, and the cells of a notebook."""

from __future__ import annotations

import ast
import warnings

from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell of a notebook, as a part of its program.

    Attributes:
        number: its position among all cells of the notebook, from 1.
        first: its first line in the program.
        lines: how many it has there.
        is_python: false for a cell that another program executes, such as one that begins with `%%bash`.
        broken: its code, if Python cannot parse it; the program has blank lines in its place.
        rows: by line of the cell, the line of the notebook's file that holds its beginning, from 1.
    """

    number: int
    first: int
    lines: int
    is_python: bool = True
    broken: str = ""
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The text to analyse, the same lines as their author wrote them, and the cells of a notebook."""

    text: str
    original: str
    cells: tuple[Cell, ...] = ()


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, without Python's remarks about it; None if Python cannot parse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
