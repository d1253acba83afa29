"""Notebooks for tests."""

from __future__ import annotations

import json


def notebook(*sources: str | tuple[str, str], language: str = "python", indent: int | None = 1) -> str:
    """A notebook of code cells; a pair is a cell of another type. Sources are lists of lines, as Jupyter has them."""
    cells = []
    for entry in sources:
        kind, source = entry if isinstance(entry, tuple) else ("code", entry)
        cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        if kind == "code":
            cell |= {"execution_count": 3, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["é 1\n"]}]}
        cells.append(cell)
    document = {
        "cells": cells,
        "metadata": {"language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
