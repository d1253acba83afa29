"""Waiting for files to change, by looking at them again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

PAUSE = 0.3
"""Between two looks, in seconds."""


def changes(
    files: Callable[[], Iterable[Path]], *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[tuple[Path, ...]]:
    """Yield an empty list at once, then the changed, new and removed files after each change.

    What changes while the caller is at work with one answer is in the next.

    Args:
        files: lists the files to look at.
        sleep: waits for some seconds.
    """
    before = _states(files())
    yield ()
    while True:
        sleep(PAUSE)
        now = _states(files())
        changed = tuple(sorted(path for path in {*before, *now} if before.get(path) != now.get(path)))
        before = now
        if changed:
            yield changed


def _states(files: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return time and size by file."""
    states: dict[Path, tuple[int, int]] = {}
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            continue
        states[file] = (status.st_mtime_ns, status.st_size)
    return states
