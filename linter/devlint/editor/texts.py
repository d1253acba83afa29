"""Places of an analysis as positions in the texts as they are now, in the units of the protocol.

An answer may rest on an analysis of an older text. A place of it is then where its lines are now; where any of its
lines has changed, it is nowhere. The protocol counts lines from 0, and columns in UTF-16 units or others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from devlint.decoding import decode, lines_of, read_bytes
from devlint.diagnostics import Place
from devlint.editor.documents import Document
from devlint.errors import SourceError
from devlint.project import digest
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Shift:
    """What became of the lines of a text: those above and below all edits are the same, and may have moved.

    Attributes:
        above: the number of lines above the edits.
        below: the first line below the edits, in the old text; lines count from 1.
        by: how far the lines below have moved down.
    """

    above: int
    below: int
    by: int

    def line(self, line: int) -> int | None:
        """Return the new number of a line; None if the line was edited."""
        if line <= self.above:
            return line
        return line + self.by if line >= self.below else None

    def place(self, place: Place) -> Place | None:
        """Return a place in the new text; None if a line of it was edited, or one within it."""
        start, end = self.line(place.line), self.line(place.end_line)
        if start is None or end is None or end - start != place.end_line - place.line:
            return None
        if place.line <= self.above and place.end_line > self.above:
            return None  # as many lines as before, but not the same
        return replace(place, line=start, end_line=end)


def shift(before: tuple[str, ...], after: tuple[str, ...]) -> Shift:
    """Compare two texts by their lines."""
    most = min(len(before), len(after))
    if before is after or before == after:
        return Shift(len(before), len(before) + 1, 0)
    above = 0
    while above < most and before[above] == after[above]:
        above += 1
    below = 0
    while below < most - above and before[-1 - below] == after[-1 - below]:
        below += 1
    return Shift(above, len(before) - below + 1, len(after) - len(before))


class Texts:
    """The texts that an analysis read, and the same texts now.

    Args:
        read: the digest of each file that the analysis rests on, by absolute path; None where there was none.
        then: the open documents among them, as the analysis read them.
        now: the open documents.
        codec: counts columns as the client does.
    """

    def __init__(
        self,
        read: Mapping[Path, str | None],
        then: Mapping[Path, Document],
        now: Mapping[Path, Document],
        codec: PositionCodec,
    ) -> None:
        self._read = read
        self._then = then
        self._now = now
        self._codec = codec
        self._known: dict[str, tuple[tuple[str, ...], Shift] | None] = {}

    def lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of a file as they are now; none if they cannot be compared with those of the analysis."""
        known = self._of(file)
        return () if known is None else known[0]

    def uri(self, file: str) -> str:
        """Return the address of a file."""
        path = Path(os.path.abspath(file))
        document = self._now.get(path) or self._then.get(path)
        return document.uri if document else uris.from_fs_path(str(path)) or path.as_uri()

    def version(self, file: str) -> int | None:
        """Return the version of a document; None for a file that is not open."""
        document = self._now.get(Path(os.path.abspath(file)))
        return None if document is None else document.version

    def line(self, file: str, line: int) -> int | None:
        """Return the number of a line now, from 1; None if it has changed."""
        known = self._of(file)
        return None if known is None else known[1].line(line)

    def place(self, place: Place) -> Place | None:
        """Return where a place is now; None if its lines have changed."""
        known = self._of(place.file)
        return None if known is None else known[1].place(place)

    def range(self, place: Place) -> types.Range | None:
        """Return the range of a place; None if its lines have changed."""
        now = self.place(place)
        if now is None:
            return None
        return types.Range(
            self.position(now.file, now.line, now.column), self.position(now.file, now.end_line, now.end_column)
        )

    def position(self, file: str, line: int, column: int) -> types.Position:
        """Return a position of the text as it is now; beyond the end of its line it is the end of the line."""
        return position(self.lines(file), line, column, self._codec)

    def location(self, place: Place) -> types.Location | None:
        """Return the range of a place with the address of its file; None if its lines have changed."""
        where = self.range(place)
        return None if where is None else types.Location(self.uri(place.file), where)

    def _of(self, file: str) -> tuple[tuple[str, ...], Shift] | None:
        if file not in self._known:
            path = Path(os.path.abspath(file))
            then, now = self._lines_then(path), self._lines_now(path)
            self._known[file] = None if then is None or now is None else (now, shift(then, now))
        return self._known[file]

    def _lines_then(self, path: Path) -> tuple[str, ...] | None:
        if path in self._then:
            return self._then[path].lines
        if path in self._now:  # opened since
            document = self._now[path]
            return document.lines if document.digest == self._read.get(path) else None
        return _on_disk(path, self._read.get(path))

    def _lines_now(self, path: Path) -> tuple[str, ...] | None:
        if path in self._now:
            return self._now[path].lines
        if path in self._then:  # closed since
            return _on_disk(path, self._then[path].digest)
        return _on_disk(path, self._read.get(path))


def position(lines: Sequence[str], line: int, column: int, codec: PositionCodec) -> types.Position:
    """Return a position of a text, given by its lines, in the units of the client."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return types.Position(max(line - 1, 0), codec.client_num_units(text[: column - 1]))


def _on_disk(path: Path, wanted: str | None) -> tuple[str, ...] | None:
    """Return the lines of a file if it has the content of that digest."""
    try:
        data = read_bytes(path, str(path))
        return lines_of(decode(data, str(path))) if digest(data) == wanted else None
    except SourceError:
        return None
