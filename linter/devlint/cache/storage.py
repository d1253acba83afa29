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
    text = json.dumps(document, separators=(",", ":"))
    partial = path.parent / f"{os.urandom(8).hex()}.partial"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "x", encoding="utf-8", opener=_for_the_user) as file:
            file.write(text)
        os.replace(partial, path)
        _tidy(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)


def _for_the_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _tidy(folder: Path) -> None:
    """Throw away what no run has used for long, also what a killed run has left half written."""
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for entry in os.scandir(folder):
        if entry.name.endswith((".json", ".partial")) and entry.stat().st_mtime < oldest:
            os.unlink(entry.path)
