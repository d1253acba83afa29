"""Places where code says that a value goes where another one is, and the text without that one word.

A place is `device=x.device` of a call that makes a tensor, or `.to(x.device)` of anything. Without it the call makes
its tensor on the CPU, or the value stays where it is.

Not every function shows that something is missing then (`Flow`). What it only hands on, by `return` or in an object,
meets nothing there, and so do views of it, copies into another tensor, and what is asked for its shape or its numbers,
or collected in a list that holds nothing else;
and of what it was given, or has from a call, it does not say that it is not where it should be, nor of what is made
like that. A tensor made of one number has no dimensions: in elementwise operations it may be on the CPU. An index on
the CPU selects from any tensor, and may say where to put something.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from tests.mutants.flow import Flow, is_factory

_NOTHING_LEFT = frozenset({"non_blocking", "copy"})
"""Arguments of `to` that ask for nothing by themselves."""


class Place(NamedTuple):
    """One place.

    Attributes:
        path: its file.
        package: the folder among those of the packages that the file is in.
        line: where it stands.
        kind: "factory" or "move"; behind a comma, why its function may not show that it is missing.
        said: the text that is taken away.
        function: which of the file's outermost functions it is in, in the order of the source.
        start, end: the text to leave out, as offsets.
    """

    path: Path
    package: str
    line: int
    kind: str
    said: str
    function: int
    start: int
    end: int

    @property
    def is_in_view(self) -> bool:
        """Whether nothing says that its function may not show that it is missing."""
        return "," not in self.kind

    def without(self, text: str) -> str:
        """The file's text with the place taken away."""
        return text[: self.start] + text[self.end :]


def outermost_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods that are in no other function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        else:
            yield from outermost_functions(node)


def lines_of(function: int, text: str) -> range:
    """The lines of one of the outermost functions of a file."""
    node = list(outermost_functions(ast.parse(text)))[function]
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def places(path: Path, package: str, text: str) -> Iterator[Place]:
    """The places of one file; one that is not Python has none."""
    if re.search(r"\.\s*device\b", text) is None:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    finder = _Finder(text)
    for number, function in enumerate(outermost_functions(tree)):
        flow: Flow | None = None
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                for kind, start, end in finder.cuts(node):
                    if flow is None:
                        flow = Flow(function)
                    told = kind + (flow.why_not_of_factory(node) if kind == "factory" else flow.why_not_of_move(node))
                    yield Place(path, package, node.lineno, told, text[start:end], number, start, end)


class _Finder:
    """Finds what to cut out of one file's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def _offset(self, line: int, column: int) -> int:
        """An offset in characters from a line and a column that `ast` counts in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def cuts(self, call: ast.Call) -> Iterator[tuple[str, int, int]]:
        """What can be taken away from one call: the kind, and the stretch of text."""
        if is_factory(call.func):
            for keyword in call.keywords:
                if keyword.arg == "device" and _is_device_of(keyword.value):
                    yield "factory", *self._argument(keyword)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "to":
            named = [keyword for keyword in call.keywords if keyword.arg == "device"]
            given: list[ast.expr | ast.keyword] = [*named, *([] if named else call.args[:1])]
            for item in given:
                if not _is_device_of(item.value if isinstance(item, ast.keyword) else item):
                    continue
                others = [arg for arg in call.args if arg is not item]
                keywords = [keyword for keyword in call.keywords if keyword is not item]
                if others or any(keyword.arg not in _NOTHING_LEFT for keyword in keywords):
                    yield "move", *self._argument(item)
                else:
                    yield "move", *self._whole_call(call, call.func)

    def _argument(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """An argument with the comma behind it, or else the one before it."""
        start, end = self._span(node)
        behind = re.compile(r"\s*,[ \t]*").match(self._text, end)
        if behind is not None:
            return start, behind.end()
        before = re.compile(r",\s*$").search(self._text[:start])
        return (start if before is None else before.start()), end

    def _whole_call(self, call: ast.Call, function: ast.Attribute) -> tuple[int, int]:
        """`.to(…)` with its dot."""
        _, end = self._span(function)
        dot = re.compile(r"\.\s*to$").search(self._text[:end])
        assert dot is not None
        return dot.start(), self._span(call)[1]


def _is_device_of(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) and value.attr == "device"
