"""Records into files, in the form that a file's name asks for."""

from __future__ import annotations

from pathlib import Path

from devlint_guard.record import Record
from devlint_guard.report import html, json, summary

_FORMS = {".json": json.render, ".html": html.render, ".htm": html.render}


def write(record: Record, path: Path) -> None:
    """Writes a record: `.json`, `.html`, and as text whatever else the file is called.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(_FORMS.get(path.suffix.lower(), summary.render)(record), encoding="utf-8")
