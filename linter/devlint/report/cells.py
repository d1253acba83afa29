"""Cells of notebooks in formats that know files and lines only."""

from __future__ import annotations

from devlint.diagnostics import Place


def in_its_cell(place: Place, message: str) -> str:
    """Return the message, with cell and line before it where the format cannot say them otherwise."""
    return message if place.cell is None else f"cell {place.cell}, line {place.line}: {message}"
