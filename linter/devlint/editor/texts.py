"""Places of devlint as positions of the protocol, which counts lines from 0 and columns in UTF-16 units or others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from devlint.diagnostics import Place
from devlint.errors import SourceError
from devlint.project import decode, lines_of, read_text


class Texts:
    """The lines of source files as an analysis has seen them.

    Args:
        contents: what stands for the content of files, by absolute path.
        addresses: the URIs of files by absolute path, where a client has named them.
        codec: counts columns as the client does.
    """

    def __init__(self, contents: Mapping[Path, bytes], addresses: Mapping[Path, str], codec: PositionCodec) -> None:
        self._contents = contents
        self._addresses = addresses
        self._codec = codec
        self._lines: dict[str, tuple[str, ...]] = {}

    def lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of a file as shown to the user; none if it cannot be read."""
        if file not in self._lines:
            path = Path(os.path.abspath(file))
            try:
                text = decode(self._contents[path], file) if path in self._contents else read_text(path, file)
                self._lines[file] = lines_of(text)
            except SourceError:
                self._lines[file] = ()
        return self._lines[file]

    def uri(self, file: str) -> str:
        """Return the address of a file."""
        path = Path(os.path.abspath(file))
        return self._addresses.get(path) or uris.from_fs_path(str(path)) or path.as_uri()

    def position(self, file: str, line: int, column: int) -> types.Position:
        """Return a position; beyond the end of its line it is the end of the line."""
        lines = self.lines(file)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return types.Position(max(line - 1, 0), self._codec.client_num_units(text[: column - 1]))

    def range(self, place: Place) -> types.Range:
        """Return the range of a place."""
        return types.Range(
            self.position(place.file, place.line, place.column),
            self.position(place.file, place.end_line, place.end_column),
        )

    def location(self, place: Place) -> types.Location:
        """Return the range of a place with the address of its file."""
        return types.Location(self.uri(place.file), self.range(place))
