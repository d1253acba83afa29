"""What runs of the guard have seen, read from its JSON reports: facts for the analysis, mismatches to compare with.

One process of one run is a *view*: all its statements held at the same time. Two views may disagree, because the
processes of a job each have their own device. No conclusion rests on two views together.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from devlint.diagnostics import Diagnostic, Mismatch, Place
from devlint.errors import ConfigError
from devlint.reading import read_file
from devlint.records import dataclass

REPORT_VERSION: Final = 1
VERSION: Final = 1
"""Of the guard's JSON reports, and of the observations in them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one place has held, over all calls that were looked at.

    Attributes:
        kinds: `tensor`, `module`, `device`, `dict`, `list`, `tuple`, `none`, `other`.
        devices: of the tensors, of the modules' parameters and buffers, and those that were named.
        sizes: the numbers of dimensions of tensors, and of elements of lists and tuples.
    """

    kinds: tuple[str, ...]
    devices: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """A function that was called.

    Attributes:
        path: its source file, absolute.
        function: its dotted path in the file.
        digest: a name for its text.
        rank: of the process, in a job of several.
        entry: its arguments, by path: `x`, `batch['mask']`, `self.scale`.
        exit: what its variables held in the end.
    """

    path: str
    function: str
    digest: str
    rank: int | None
    entry: Mapping[str, Seen]
    exit: Mapping[str, Seen]


@dataclass(frozen=True)
class View:
    """What one process has seen.

    Attributes:
        rank: in a job of several.
        problem: why it has seen nothing; empty if it has.
        called: the functions, in order.
    """

    rank: int | None
    problem: str
    called: tuple[Called, ...]

    @cached_property
    def files(self) -> frozenset[str]:
        """The source files of the functions."""
        return frozenset(one.path for one in self.called)

    @cached_property
    def _by_text(self) -> Mapping[tuple[str, str, str], Called]:
        return {(one.path, one.function, one.digest): one for one in self.called}

    def has(self, file: str) -> bool:
        """Whether functions of a source file were seen."""
        return os.path.realpath(file) in self.files

    def of(self, file: str, function: str, text: str) -> Called | None:
        """The observations of a function with this text, from `def` on; None without any, or if it has changed."""
        return self._by_text.get((os.path.realpath(file), function, digest_of(text))) if self.has(file) else None


@dataclass(frozen=True, slots=True)
class Recording:
    """One report of the guard.

    Attributes:
        file: as shown to the user.
    """

    file: str
    views: tuple[View, ...]
    mismatches: tuple[Mismatch, ...]


def digest_of(text: str) -> str:
    """A name for the text of a function, from `def` to its end."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# --- reading ------------------------------------------------------------------------------------------------


def read(path: Path, display: str) -> Recording:
    """Read a report.

    Raises:
        ConfigError: it cannot be read, or is none that has observations in it.
    """
    try:
        data = json.loads(read_file(path))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", path=display) from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"is not JSON: {error.msg}", path=display, line=error.lineno) from error
    except RecursionError as error:
        raise ConfigError("is not JSON: nested too deeply", path=display) from error
    except ValueError as error:  # no UTF-8, or a number with more digits than Python reads
        raise ConfigError("is not JSON", path=display) from error
    try:
        if data["version"] != REPORT_VERSION or data["observed"]["version"] != VERSION:
            raise ConfigError("is a report of another version of the guard; record the program again", path=display)
        views = tuple(map(_view, data["observed"]["runs"]))
        mismatches = tuple(map(_mismatch, data["findings"]))
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ConfigError("is no JSON report of the guard, as `devlint run` writes it", path=display) from error
    if not views:
        raise ConfigError("holds no observations; only a guard with mode `record` makes them", path=display)
    return Recording(display, views, mismatches)


def _view(data: Any) -> View:
    rank = None if data["rank"] is None else int(data["rank"])
    return View(rank, str(data["problem"]), tuple(_called(one, rank) for one in data["functions"]))


def _called(data: Any, rank: int | None) -> Called:
    entry, exit_ = ({str(path): _seen(one) for path, one in data[key].items()} for key in ("entry", "exit"))
    return Called(_real(data["file"]), str(data["function"]), str(data["digest"]), rank, entry, exit_)


def _seen(data: Any) -> Seen:
    kinds, devices = (tuple(map(str, data[key])) for key in ("kinds", "devices"))
    return Seen(kinds, devices, tuple(map(int, data["sizes"])))


def _mismatch(data: Any) -> Mismatch:
    place = None if data["place"] is None else _place(data["place"])
    return Mismatch(str(data["code"]), str(data["rule"]), str(data["message"]), place)


def _place(data: Any) -> Place:
    """A place; the guard counts columns from 1, and has 0 where only the line is known."""
    line, column, end, end_column = (int(data[key]) for key in ("line", "column", "end_line", "end_column"))
    end = min(max(end, line), line + _MOST_LINES)
    return Place(str(data["file"]), line, max(column, 1), end, max(end_column, 1))


_MOST_LINES = 10_000
"""Lines of a mismatch at most, whatever a recording claims; each is looked at."""


def _real(file: object) -> str:
    return os.path.realpath(cast(str, file))


# --- several of them ----------------------------------------------------------------------------------------


def different(views: Iterable[View]) -> tuple[View, ...]:
    """The views without those that say nothing new: where another one only has each GPU under another number.

    The first GPU keeps its number, since that is the one that programs name.
    """
    found = {_pattern(view): view for view in reversed(tuple(views)) if view.called}
    return tuple(reversed(found.values()))


def _pattern(view: View) -> object:
    numbers: dict[str, str] = {}
    return tuple(
        (one.path, one.function, one.digest, part, path, seen.kinds, seen.sizes, _renumbered(seen.devices, numbers))
        for one in view.called
        for part, places in (("entry", one.entry), ("exit", one.exit))
        for path, seen in sorted(places.items())
    )


def _renumbered(devices: Iterable[str], numbers: dict[str, str]) -> tuple[str, ...]:
    return tuple(
        numbers.setdefault(device, f"GPU {len(numbers)}") if _NUMBERED.search(device) else device for device in devices
    )


_NUMBERED = re.compile(r":[1-9]")


def unforeseen(mismatches: Iterable[Mismatch], diagnostics: Sequence[Diagnostic]) -> tuple[Mismatch, ...]:
    """The mismatches that no diagnostic of their family tells of, in its own line or in its story."""
    told = {(one.code[:4], place) for one in diagnostics for place in _lines_told(one)}
    codes = {one.code for one in diagnostics}
    missed = [one for one in dict.fromkeys(mismatches) if not _is_told(one, told, codes)]
    return tuple(sorted(missed, key=lambda one: (one.place is not None, one.place or 0, one.code, one.message)))


_Line = tuple[str, int]


def _is_told(one: Mismatch, told: set[tuple[str, _Line]], codes: set[str]) -> bool:
    if one.place is None:
        return one.code in codes
    # What only the guard has codes for is a mismatch to the linter, if it sees it.
    family = "DEV1" if one.code.startswith("DEV6") else one.code[:4]
    return any((family, line) in told for line in _lines(one.place))


def _lines_told(diagnostic: Diagnostic) -> Iterator[_Line]:
    for place in (
        diagnostic.place,
        *(one.place for one in diagnostic.labels),
        *(one.place for one in diagnostic.related),
    ):
        yield from _lines(place)


def _lines(place: Place) -> Iterator[_Line]:
    path = os.path.realpath(place.file)
    return ((path, line) for line in range(place.line, max(place.end_line, place.line) + 1))


def stale(views: Iterable[View], file: str, text: str) -> list[str]:
    """The functions of a source file that have changed since the recording, by their dotted paths."""
    path = os.path.realpath(file)
    seen = {(one.function, one.digest) for view in views for one in view.called if one.path == path}
    return sorted({function for function, _ in seen - set(_definitions(text))})


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """The functions of a source text: dotted path and digest."""
    lines = text.split("\n")
    try:
        pending: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError):
        return
    while pending:
        above, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            path = above
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                path = f"{above}.{child.name}" if above else child.name
                if not isinstance(child, ast.ClassDef):
                    yield path, digest_of(_text(lines, child))
            pending.append((path, child))


def _text(lines: Sequence[str], node: ast.stmt) -> str:
    whole = [line.encode() for line in lines[node.lineno - 1 : node.end_lineno]]
    whole[-1] = whole[-1][: node.end_col_offset]
    whole[0] = whole[0][node.col_offset :]
    return b"\n".join(whole).decode()
