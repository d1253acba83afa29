"""The open documents as the client has them: text, version, and the edits that lead from one version to the next."""

from __future__ import annotations

import io
import os
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from devlint.decoding import decode, lines_of
from devlint.errors import SourceError
from devlint.project import digest

_LINE_END = re.compile(r"\r\n|\r|\n")
"""The line ends of the protocol. pygls splits lines at form feeds as well, so devlint applies edits itself."""


class Document:
    """One version of an open document; it never changes.

    Attributes:
        uri: its address, as the client spells it.
        version: the client's number for this text.
        text: the text as the client has it.
    """

    def __init__(self, uri: str, version: int | None, text: str) -> None:
        self.uri = uri
        self.version = version
        self.text = text

    @cached_property
    def data(self) -> bytes:
        """The bytes that an editor would save: in the encoding that the text declares, or else as UTF-8."""
        data = self.text.encode("utf-8", "surrogatepass")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            return data if encoding.startswith("utf-8") else self.text.encode(encoding)
        except (SyntaxError, LookupError, UnicodeError):
            return data

    @cached_property
    def digest(self) -> str:
        """A name for the content."""
        return digest(self.data)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines as the analysis counts them; none if the text cannot be decoded."""
        try:
            return lines_of(decode(self.data, self.uri))
        except SourceError:
            return ()

    def edited(
        self, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], codec: PositionCodec
    ) -> Document:
        """Return the next version; a change replaces a range, or the whole text where it names no range."""
        text = self.text
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = (_offset(text, at, codec) for at in (change.range.start, change.range.end))
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
        return Document(self.uri, version, text)


def _offset(text: str, position: types.Position, codec: PositionCodec) -> int:
    """Return the index of a position; beyond a line it is the end of the line, beyond all the end of the text."""
    start = 0
    for _ in range(position.line):
        found = _LINE_END.search(text, start)
        if found is None:
            return len(text)
        start = found.end()
    found = _LINE_END.search(text, start)
    line = text[start : len(text) if found is None else found.start()]
    if line.isascii():
        return start + min(position.character, len(line))
    units = 0
    for index, letter in enumerate(line):
        if units >= position.character:
            return start + index
        units += codec.client_num_units(letter)
    return start + len(line)


class Documents(Mapping[Path, Document]):
    """All open documents, by absolute path."""

    def __init__(self) -> None:
        self._open: dict[Path, Document] = {}

    def __getitem__(self, path: Path) -> Document:
        return self._open[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)

    def put(self, document: Document) -> Path:
        """Let this be the newest version of a document; return its path."""
        path = path_of(document.uri)
        self._open[path] = document
        return path

    def close(self, uri: str) -> Path:
        """Forget a document; return its path."""
        path = path_of(uri)
        self._open.pop(path, None)
        return path


def path_of(uri: str) -> Path:
    """Return the file that a document is; one without a file is taken for one of the working directory."""
    path = uris.to_fs_path(uri)
    return Path(os.path.abspath(path or "untitled.py"))
