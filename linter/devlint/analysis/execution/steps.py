"""How long one file may be analysed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from devlint.errors import LimitError

MOST_STEPS = 2_000_000
"""How many instructions may be executed for one file, in about a minute; the longest files of timm need 45,000."""


class Steps:
    """Counts the instructions that are executed for a file; a file that it imports has a count of its own."""

    __slots__ = ("_file", "_left")

    def __init__(self) -> None:
        self._file = ""
        self._left = MOST_STEPS

    def take(self, count: int) -> None:
        """Count so many instructions.

        Raises:
            LimitError: these are too many for the present file.
        """
        self._left -= count
        if self._left < 0:
            message = f"the analysis was stopped after {MOST_STEPS:,} steps, so the file is not checked"
            raise LimitError(message, path=self._file)

    @contextmanager
    def of(self, file: str) -> Iterator[None]:
        """Begin a count for a file, and go on with the present count behind it."""
        before = self._file, self._left
        self._file, self._left = file, MOST_STEPS
        try:
            yield
        finally:
            self._file, self._left = before
