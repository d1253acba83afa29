"""Makes fixes in rounds: make all compatible fixes, analyse again, keep those that helped, until none is left."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from devlint.decoding import decode, read_bytes
from devlint.diagnostics import Diagnostic, Place
from devlint.errors import OutputError, SourceError
from devlint.fixes.applying import apply_to_bytes, moved
from devlint.fixes.changes import Change, obstacle
from devlint.fixes.choosing import choose
from devlint.fixes.harm import Moved, allows, new_errors, useless
from devlint.project import digest
from devlint.records import dataclass
from devlint.sources import program_of

MOST_ROUNDS = 60
"""Each round makes a fix that helps, refuses one, or halves their number; the next run continues with the rest."""

Contents: TypeAlias = Mapping[Path, bytes]
"""Contents of files by absolute path, in place of those on the disk."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One file as it was checked: its diagnostics, and a name for the content that they are about."""

    diagnostics: tuple[Diagnostic, ...]
    digest: str


Found: TypeAlias = Mapping[str, Checked]
"""The results, by file as shown to the user."""

Identity: TypeAlias = tuple[str, str, str, str]
"""A diagnostic whatever the lines above it: its file, code and message, and the text of its line."""

_Place: TypeAlias = tuple[str, str, str, int, int]
"""A diagnostic: its file, code and message, and where it begins."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A diagnostic whose fix was made.

    Attributes:
        diagnostic: it, with places in the file that its fix was made in.
        place: where its stretch is in the fixed file.
        identity: see `Identity`.
        edited: where its edits are in the fixed file.
    """

    diagnostic: Diagnostic
    place: Place
    identity: Identity
    edited: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """The fixes that were made at once in one file: their diagnostics, and where they leave the others."""

    settled: tuple[Diagnostic, ...]
    where: Moved


class Repair:
    """One repair of a set of files, in memory.

    An edit is made only in the content that it was made for, byte for byte. A fix is kept only if the analysis can
    still read the file, no longer reports the diagnostic that the fix settles, and reports no new error in any file.
    An unsafe fix may bring a new error that has a fix too and is no worse than the one settled. A fix that is not kept
    is undone and not tried again. If one of several fixes brings an error, half of them are made first.

    Args:
        look: inspects the files, some of them with other content than on the disk.
        unsafe: make unsafe fixes too.
        given: content that stands for files from the start, such as standard input.
        left: diagnostics whose fixes are not made, nor other fixes of the same subject.
        writes: the files will be written. A file that cannot be written gets no fix, and keeps its diagnostics.

    Attributes:
        warnings: the fixes that were not made, and why.
        unwritable: why files cannot be written, by file; each is one that a fix would change.
    """

    def __init__(
        self,
        look: Callable[[Contents], Found],
        *,
        unsafe: bool,
        given: Contents,
        left: Sequence[Settled] = (),
        writes: bool = False,
    ) -> None:
        self.warnings: list[str] = []
        self.unwritable: dict[str, OutputError] = {}
        self._writes = writes
        self._look = look
        self._unsafe = unsafe
        self._given = given
        self._before: dict[str, bytes] = {}
        self._now: dict[str, bytes] = {}
        self._left = frozenset(one.identity for one in left)
        self._left_subjects = frozenset(filter(None, (_subject(one.diagnostic) for one in left)))
        self._settled: dict[str, tuple[Settled, ...]] = {}
        self._refused: set[_Place] = set()

    def run(self, found: Found) -> None:
        """Make the fixes of the files as they were found; the last look is at the files as they are then."""
        most: int | None = None
        for _ in range(MOST_ROUNDS):
            wanted = self._wanted(found)
            if not wanted:
                return
            earlier, settled = dict(self._now), dict(self._settled)
            made = self._make(found, wanted[:most])
            after = self._look(self.contents) if made else found
            wasted = [
                one
                for file, own in made.items()
                for one in useless(own.settled, _of(found, file), _of(after, file), own.where)
            ]
            brought = _first_harm(found, after, made, unsafe=self._unsafe)
            if not wasted and brought is None:
                self._move_refused(made)
                found, most = after, most and 2 * most
                continue
            self._now, self._settled = earlier, settled
            found = self._look(self.contents)
            fixes = [one for file in made.values() for one in file.settled]
            if wasted:
                self._refuse(wasted, "it does not help")
            elif len(fixes) > 1:
                most = len(fixes) // 2
            elif brought is not None:
                where = f"{brought.place.file}:{brought.place.line}"
                reason = f"after it, devlint reports {brought.code} in {where}"
                self._refuse(fixes, f"{reason}; if that line is wrong already, make the change by hand")
                most = None

    @property
    def contents(self) -> Contents:
        """What the files hold now, as far as that is not on the disk."""
        return {**self._given, **{_path(file): data for file, data in self._now.items()}}

    def refuses(self, diagnostic: Diagnostic) -> bool:
        """Whether the fix of a diagnostic cannot be made; its place is one in the contents of now."""
        return _place(diagnostic) in self._refused or diagnostic.place.file in self.unwritable

    @property
    def settled(self) -> tuple[Settled, ...]:
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

    def _wanted(self, found: Found) -> list[Diagnostic]:
        """The diagnostics whose fixes can be made at once, in order; unsafe ones wait until all safe ones are made.

        A safe fix often settles other reports of the same cause, which then need no fix of their own.
        """
        open_ones = {
            file: [one for one in checked.diagnostics if _place(one) not in self._refused and not self._is_left(one)]
            for file, checked in found.items()
            if file not in self.unwritable
        }
        for unsafe in (False, True) if self._unsafe else (False,):
            wanted = [one for own in open_ones.values() for one in choose(own, unsafe=unsafe).settled]
            wanted = [one for one in wanted if self._is_writable(one.place.file)]
            if wanted:
                return wanted
        return []

    def _is_writable(self, file: str) -> bool:
        path = _path(file)
        if self._writes and path not in self._given and file not in self._now and file not in self.unwritable:
            problem = obstacle(path, file)
            if problem is not None:
                self.unwritable[file] = problem
        return file not in self.unwritable

    def _move_refused(self, made: Mapping[str, _Made]) -> None:
        """Let the refused diagnostics move with the text of their files."""
        self._refused = {
            (file, code, message, *at)
            for file, code, message, line, column in self._refused
            for at in (made[file].where(line, column) if file in made else ((line, column),))
        }

    def _make(self, found: Found, wanted: Iterable[Diagnostic]) -> dict[str, _Made]:
        """Make fixes that go together, by file."""
        made: dict[str, _Made] = {}
        for file, own in groupby(wanted, key=lambda one: one.place.file):
            choice, checked = choose(own, unsafe=self._unsafe), found[file]
            try:
                data = self._content(file)
                if digest(data) != checked.digest:
                    raise SourceError("the file has changed since it was checked")
                self._now[file] = apply_to_bytes(data, choice.edits, file)
            except (SourceError, UnicodeEncodeError, ValueError) as error:
                self._refuse(choice.settled, str(error))
                continue
            text = program_of(decode(data, file), file).original
            where = partial(moved, text, choice.edits)
            made[file] = _Made(choice.settled, where)
            earlier = (
                replace(one, place=_moved(one.place, where), edited=tuple(_moved(edit, where) for edit in one.edited))
                for one in self._settled.get(file, ())
            )
            added = (
                Settled(one, _moved(one.place, where), _identity(one, text), edited(one, where))
                for one in choice.settled
            )
            self._settled[file] = (*earlier, *added)
        return made

    def _is_left(self, one: Diagnostic) -> bool:
        if not self._left or one.fix is None:
            return False
        text = program_of(decode(self._content(one.place.file), one.place.file), one.place.file).original
        return _identity(one, text) in self._left or _subject(one) in self._left_subjects

    def _content(self, file: str) -> bytes:
        if file not in self._before:
            path = _path(file)
            self._before[file] = self._given[path] if path in self._given else read_bytes(path, file)
        return self._now.get(file, self._before[file])

    def _refuse(self, fixes: Iterable[Diagnostic], reason: str) -> None:
        for one in fixes:
            self._refused.add(_place(one))
            where = f"{one.place.file}:{one.place.line}:{one.place.column}"
            self.warnings.append(f"{where}: the fix of {one.code} is not made: {reason}")


def _first_harm(found: Found, after: Found, made: Mapping[str, _Made], *, unsafe: bool) -> Diagnostic | None:
    """Return a new error that forbids one of the fixes made, or None."""
    before = [one for checked in found.values() for one in checked.diagnostics]
    now = [one for checked in after.values() for one in checked.diagnostics]
    where = {file: one.where for file, one in made.items()}
    fixes = [one for file in made.values() for one in file.settled]
    written = [place for file in made.values() for one in file.settled for place in edited(one, file.where)]
    return next(
        (
            new
            for new in new_errors(before, now, where, written)
            if not all(allows(one, new, unsafe=unsafe) for one in fixes)
        ),
        None,
    )


def _of(found: Found, file: str) -> tuple[Diagnostic, ...]:
    return found[file].diagnostics if file in found else ()


def _place(one: Diagnostic) -> _Place:
    return (one.place.file, one.code, one.message, one.place.line, one.place.column)


def _identity(one: Diagnostic, text: str) -> Identity:
    return (one.place.file, one.code, one.message, text.split("\n")[one.place.line - 1].strip())


def _subject(one: Diagnostic) -> tuple[str, str] | None:
    return (one.place.file, one.fix.subject) if one.fix is not None and one.fix.subject else None


def _moved(place: Place, where: Moved) -> Place:
    """Return a stretch behind text that was inserted where it begins."""
    line, column = where(place.line, place.column)[-1]
    end_line, end_column = where(place.end_line, place.end_column)[0]
    return replace(place, line=line, column=column, end_line=max(line, end_line), end_column=end_column)


def edited(one: Diagnostic, where: Moved) -> tuple[Place, ...]:
    """Return where the edits of a diagnostic are, with the text that they insert."""
    found = []
    for edit in () if one.fix is None else one.fix.edits:
        (line, column), (end_line, end_column) = (
            where(edit.place.line, edit.place.column)[0],
            where(edit.place.end_line, edit.place.end_column)[-1],
        )
        found.append(replace(edit.place, line=line, column=column, end_line=end_line, end_column=end_column))
    return tuple(found)


def _path(file: str) -> Path:
    return Path(os.path.abspath(file))
