"""Reading stub files: a file is cut into declarations by indentation; other code parses them."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path

from devlint.errors import CatalogueError
from devlint.reading import LARGEST_SETTINGS, read_file
from devlint.records import dataclass
from devlint.torchlib.signature import StubText

_START = re.compile(r"@|def (\w+)|class (\w+)|(\w+)\s*:")
_IGNORED = re.compile(r"\s|#|\)|\]|$|from |import ")


@dataclass(slots=True)
class Body:
    """The declarations of a file or class, by name; several functions of one name are its forms, in order."""

    functions: dict[str, list[StubText]] = field(default_factory=dict)
    classes: dict[str, StubText] = field(default_factory=dict)
    values: dict[str, StubText] = field(default_factory=dict)

    def override(self, other: Body) -> None:
        """Let the declarations of `other` replace those of the same name."""
        for name in {**other.functions, **other.classes, **other.values}:
            self.functions.pop(name, None)
            self.classes.pop(name, None)
            self.values.pop(name, None)
        self.functions.update(other.functions)
        self.classes.update(other.classes)
        self.values.update(other.values)


def read_stub(path: Path) -> Body:
    """The declarations of a stub file.

    Raises:
        CatalogueError: the file cannot be read, or a line cannot be understood.
    """
    try:
        text = read_file(path, LARGEST_SETTINGS).decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise CatalogueError(f"cannot be read: {error.strerror or error}", path=str(path)) from None
    except UnicodeDecodeError as error:
        raise CatalogueError(f"is not UTF-8: {error.reason} at byte {error.start}", path=str(path)) from None
    return split(StubText(text, str(path)))


def split(source: StubText, indent: int = 0) -> Body:
    """Cut a stub, or the inside of a class, into declarations that start at column `indent`.

    Raises:
        CatalogueError: something at that column is neither declaration, comment nor import.
    """
    body = Body()
    lines = [line[indent:] if line[:indent].isspace() else line for line in source.text.split("\n")]
    start = name_line = None
    inside_docstring = False
    for number, line in enumerate([*lines, "@"]):
        quotes = line.count('"""') if line[:3] == '"""' or inside_docstring else 0
        if quotes or inside_docstring:
            inside_docstring ^= quotes == 1
            continue
        match = _START.match(line) if not _IGNORED.match(line) else None
        if match is None:
            if line and not _IGNORED.match(line) and line != "...":
                raise CatalogueError("not a declaration", path=source.path, line=source.line + number)
            continue
        if start is not None and name_line is not None:
            _add(body, _piece(source, lines, start, number), lines[name_line])
            start = name_line = None
        start = number if start is None else start
        if line[0] != "@":
            name_line = number
    return body


def _piece(source: StubText, lines: list[str], start: int, end: int) -> StubText:
    return StubText("\n".join(lines[start:end]), source.path, source.line + start)


def _add(body: Body, piece: StubText, line: str) -> None:
    match = _START.match(line)
    assert match is not None
    function, class_, value = match.groups()
    if function is not None:
        body.functions.setdefault(function, []).append(piece)
    elif class_ is not None:
        body.classes[class_] = piece
    else:
        body.values[value] = piece
