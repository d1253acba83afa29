"""Records into files, in the form that a file's name asks for: whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from devlint_guard.report import html, json, summary
from devlint_guard.report.record import Record

_FORMS = {".json": json.render, ".html": html.render, ".htm": html.render}


def write(record: Record, path: Path) -> None:
    """Writes a record: JSON for `.json`, HTML for `.html`, text for any other name; whole or not at all.

    A link stays one. A special file, such as `/dev/stdout`, is written to directly.

    Raises:
        OSError: the file cannot be written; then it is as it was.
    """
    data = _FORMS.get(path.suffix.lower(), summary.render)(record).encode("utf-8", "backslashreplace")
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".devlint-{os.urandom(8).hex()}.partial")
    try:
        with open(partial, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
