"""What child processes of a rehearsal tell the process that began it: a file to which each of them adds lines."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class Journal:
    """The file of a rehearsal.

    Attributes:
        path: the file; empty without a rehearsal.
        owner: the process that began the rehearsal. It reads, all others write.
    """

    path: str = ""
    owner: int = 0

    def begin(self, path: str = "") -> None:
        """Begin a journal in this process, or write to that of a parent.

        Args:
            path: the journal of a parent.
        """
        if path:
            self.path, self.owner = path, 0
        else:
            handle, self.path = tempfile.mkstemp(prefix="devlint-", suffix=".jsonl")
            os.close(handle)
            self.owner = os.getpid()

    def end(self) -> None:
        """Remove the file, if this process has made it."""
        if self.is_owner:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self.path = ""

    @property
    def is_owner(self) -> bool:
        """Whether this process began the rehearsal."""
        return self.owner == os.getpid()

    def write(self, kind: str, text: str) -> None:
        """Add a line, if this is a child; one call of the system writes it, so that lines of processes do not mix."""
        if self.path and not self.is_owner:
            with contextlib.suppress(OSError), open(self.path, "ab", buffering=0) as file:
                file.write(json.dumps([kind, text]).encode() + b"\n")

    def read(self, kind: str) -> list[str]:
        """Return the texts of a kind that children have written, each once and in order."""
        if not self.path or not self.is_owner:
            return []
        with contextlib.suppress(OSError), open(self.path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.endswith("\n")]
            return list(dict.fromkeys(text for found, text in rows if found == kind))
        return []

    def forget(self) -> None:
        """Empty the file."""
        if self.path and self.is_owner:
            with contextlib.suppress(OSError):
                os.truncate(self.path, 0)


JOURNAL: Final = Journal()

UNJUDGED, ERROR, PLACED = "unjudged", "error", "placed"
"""The kinds: an operation that was not judged, a device error that ended a child, the type of a device in use."""
