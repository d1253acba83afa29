"""Makes fixes in rounds: make what can be made at once, look again, keep what helped, until nothing is left."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from devlint.diagnostics import Diagnostic
from devlint.errors import SourceError
from devlint.fixes.applying import apply_to_bytes, moved
from devlint.fixes.changes import Change
from devlint.fixes.choosing import choose
from devlint.project import decode, digest, read_bytes
from devlint.records import dataclass
from devlint.selection import ALWAYS
from devlint.sources import program_of

MOST_ROUNDS = 20
"""Each round makes at least one fix that helps; files with more than this in one place are left for the next run."""

Contents: TypeAlias = Mapping[Path, bytes]
"""What stands for the content of files, by absolute path, instead of what is on the disk."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One file as it was checked: its diagnostics, and a name for the content that they are about."""

    diagnostics: tuple[Diagnostic, ...]
    digest: str


Found: TypeAlias = Mapping[str, Checked]
"""What was found, by file as shown to the user."""

_Cause: TypeAlias = tuple[str, str, str, int]
_Made: TypeAlias = Mapping[Diagnostic, tuple[tuple[int, int], ...]]
"""Diagnostics whose fixes were made, and where each would be reported now if that had not helped."""


class Repair:
    """One repair of a set of files, in memory.

    An edit is made only in the content that it was made for, byte for byte. A fix is kept only if the analysis no
    longer reports what it settles, and if it can still read the file. A file in which that is not so gets back the
    content that it had before the round, and that fix is not tried again.

    Args:
        look: inspects the files, some of them with other content than on the disk.
        unsafe: make unsafe fixes too.
        given: content that stands for files from the start, such as standard input.

    Attributes:
        warnings: what was not fixed although there is a fix, and why.
    """

    def __init__(self, look: Callable[[Contents], Found], *, unsafe: bool, given: Contents) -> None:
        self.warnings: list[str] = []
        self._look = look
        self._unsafe = unsafe
        self._given = given
        self._before: dict[str, bytes] = {}
        self._now: dict[str, bytes] = {}
        self._settled: dict[str, tuple[Diagnostic, ...]] = {}
        self._refused: set[_Cause] = set()

    def run(self, found: Found) -> None:
        """Make the fixes of the files as they were found."""
        for _ in range(MOST_ROUNDS):
            earlier, settled = dict(self._now), dict(self._settled)
            made = self._make(found)
            if not made:
                return
            found = self._look(self.contents)
            useless = {file: _useless(found[file].diagnostics if file in found else (), made[file]) for file in made}
            if any(useless.values()):
                for file in [file for file, fixes in useless.items() if fixes]:
                    self._refuse(file, useless[file])
                    self._settled[file] = settled.get(file, ())
                    self._now[file] = earlier.get(file, self._before[file])
                found = self._look(self.contents)

    @property
    def contents(self) -> Contents:
        """What the files hold now, as far as that is not on the disk."""
        return {**self._given, **{_path(file): data for file, data in self._now.items()}}

    @property
    def settled(self) -> tuple[Diagnostic, ...]:
        """The diagnostics whose fixes were made and kept."""
        return tuple(one for file in sorted(self._settled) for one in self._settled[file])

    @property
    def changes(self) -> tuple[Change, ...]:
        """The files that are different now, in order."""
        return tuple(
            Change(_path(file), file, self._before[file], self._now[file], len(self._settled.get(file, ())))
            for file in sorted(self._now)
            if self._now[file] != self._before[file]
        )

    def _make(self, found: Found) -> dict[str, _Made]:
        """Make what can be made at once, and return what that should settle."""
        made: dict[str, _Made] = {}
        for file, checked in found.items():
            wanted = [one for one in checked.diagnostics if _cause(one) not in self._refused]
            choice = choose(wanted, unsafe=self._unsafe)
            if not choice.edits:
                continue
            try:
                data = self._content(file)
                if digest(data) != checked.digest:
                    raise SourceError("the file has changed since it was checked")
                self._now[file] = apply_to_bytes(data, choice.edits, file)
            except (SourceError, UnicodeEncodeError, ValueError) as error:
                self._refuse(file, choice.settled, str(error))
                continue
            text = program_of(decode(data, file), file).original
            made[file] = {one: moved(text, choice.edits, one.place.line, one.place.column) for one in choice.settled}
            self._settled[file] = self._settled.get(file, ()) + choice.settled
        return made

    def _content(self, file: str) -> bytes:
        if file not in self._before:
            path = _path(file)
            self._before[file] = self._given[path] if path in self._given else read_bytes(path, file)
        return self._now.get(file, self._before[file])

    def _refuse(self, file: str, fixes: Sequence[Diagnostic], reason: str = "it does not help") -> None:
        for one in fixes:
            self._refused.add(_cause(one))
            where = f"{file}:{one.place.line}:{one.place.column}"
            self.warnings.append(f"{where}: the fix of {one.code} is not made: {reason}")


def _useless(after: Sequence[Diagnostic], made: _Made) -> tuple[Diagnostic, ...]:
    """Those of the fixes made that do not help; all of them if the file cannot be read any more."""
    if any(one.code in ALWAYS for one in after):
        return tuple(made)
    reported = {(one.code, one.message, one.place.line, one.place.column) for one in after}
    return tuple(one for one, places in made.items() if any((one.code, one.message, *at) in reported for at in places))


def _cause(diagnostic: Diagnostic) -> _Cause:
    """What tells a diagnostic from others when lines have moved a little."""
    return (diagnostic.place.file, diagnostic.code, diagnostic.message, diagnostic.place.column)


def _path(file: str) -> Path:
    return Path(os.path.abspath(file))
