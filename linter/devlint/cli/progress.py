"""One line on the terminal that says how far a long run is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

PATIENCE = 1.0
"""A run that is over before, in seconds, shows nothing."""

PAUSE = 0.1
"""The line changes no more often than this, in seconds."""


class Progress:
    """Counts files on a terminal; elsewhere it does nothing. It leaves the line empty behind it.

    Args:
        stream: where to write.
        clock: the time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._on = stream.isatty()
        self._next = clock() + PATIENCE
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Take note that so many files of all are done."""
        if self._on and self._clock() >= self._next:
            self._write(f"{done} of {total} files")
            self._next = self._clock() + PAUSE
            self._shown = True

    def clear(self) -> None:
        """Empty the line."""
        if self._shown:
            self._write("")
            self._shown = False

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}\x1b[K")
        self._stream.flush()
