"""Files of the cache: JSON, written whole or not at all. What cannot be read or written is as good as absent."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

UNUSED_DAYS = 30
"""After so long without use a file is thrown away."""


def read(path: Path) -> object:
    """Return what a file holds, None if it is not there or spoilt."""
    try:
        document = json.loads(path.read_bytes())
        os.utime(path)
    except (OSError, ValueError, RecursionError):
        return None
    return document


def write(path: Path, document: object) -> None:
    """Write a file, and throw away what nobody has used for long."""
    import tempfile

    partial = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent, suffix=".partial")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(document, separators=(",", ":")))
        os.replace(partial, path)
        _tidy(path.parent)
    except OSError:
        if partial is not None:
            with contextlib.suppress(OSError):
                os.unlink(partial)


def _tidy(folder: Path) -> None:
    """Throw away what no run has used for long, also what a killed run has left half written."""
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for entry in os.scandir(folder):
        if entry.name.endswith((".json", ".partial")) and entry.stat().st_mtime < oldest:
            os.unlink(entry.path)
