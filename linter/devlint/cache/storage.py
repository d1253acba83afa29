"""Files of the cache: JSON, written whole or not at all. A file that cannot be read or written counts as absent.

A cache file can make a report vanish, so only its owner may write it: where the system knows owners, a folder or a file
that belongs to another user, or that others may write, is neither read nor written.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from pathlib import Path

UNUSED_DAYS = 30
"""After so long without use a file is thrown away."""


def read(path: Path) -> object:
    """Return the content of a file; None if it is absent, spoilt, or not the user's alone."""
    try:
        if not is_private(os.stat(path.parent)):
            return None
        with open(path, "rb", opener=_no_link) as file:
            status = os.fstat(file.fileno())
            if not (stat.S_ISREG(status.st_mode) and is_private(status)):
                return None
            document: object = json.loads(file.read())
        os.utime(path)
    except (OSError, ValueError, RecursionError):
        return None
    return document


def write(path: Path, document: object) -> None:
    """Write a file, and throw away files that no run has used for long.

    A folder that does not exist is made, for the user alone.
    """
    put_text(path, json.dumps(document, separators=(",", ":")))


def put_text(path: Path, text: str) -> None:
    """Write a file that is not JSON, as `write` does."""
    partial = path.parent / f"{os.urandom(8).hex()}.partial"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(os.stat(path.parent)):
            return
        with open(partial, "x", encoding="utf-8", opener=_for_the_user) as file:
            file.write(text)
        os.replace(partial, path)
        _tidy(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)


def is_private(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user, and nobody else may write it; always, on Windows."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _no_link(path: str, flags: int) -> int:
    """Open a file that is not a link, without waiting for a writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _for_the_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _tidy(folder: Path) -> None:
    """Remove files that no run has used for long, also the unfinished files of killed runs."""
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for entry in os.scandir(folder):
        if entry.name.endswith((".json", ".partial")) and entry.stat().st_mtime < oldest:
            os.unlink(entry.path)
