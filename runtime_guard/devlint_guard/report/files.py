"""Records into files, in the form that a file's name asks for."""

from __future__ import annotations

import os
from pathlib import Path

from devlint_guard.record import Record
from devlint_guard.report import html, json, summary

_FORMS = {".json": json.render, ".html": html.render, ".htm": html.render}


def write(record: Record, path: Path) -> None:
    """Writes a record: `.json`, `.html`, and as text whatever else the file is called; whole or not at all.

    A link stays one. What is no regular file, such as `/dev/stdout`, is written to.

    Raises:
        OSError: the file cannot be written; then it is as it was.
    """
    data = _FORMS.get(path.suffix.lower(), summary.render)(record).encode()
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        if target.exists():
            partial.chmod(target.stat().st_mode & 0o7777)
        os.replace(partial, target)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
