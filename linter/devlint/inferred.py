"""The values that the inference sees, as facts for people: `devlint show`, the editor and `devlint facts`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devlint.diagnostics import Place
from devlint.domain.device import UNKNOWN_DEVICE, Device, Variable, parse
from devlint.domain.place import AccessPath
from devlint.facts import Anchored, FileFacts, Occurrence, Reveal

if TYPE_CHECKING:
    from devlint.inference import Inference, Seen
    from devlint.project import Source

_At = tuple[int, int]


def facts(inference: Inference, source: Source, *, occurrences: bool = False) -> FileFacts:
    """Return the facts of a file, with the occurrences that the inference has kept.

    Raises:
        SyntaxError: the file is no Python.
    """
    text = _Text(source)
    inference.broken(source, ())
    found = list(inference.seen(source))
    revealed = [each for each in found if each.end is None]
    values = {(each.start, each.end): each for each in found if each.end is not None and occurrences}
    seen = {one.anchor: one for one in _occurrences(text, values)}
    return FileFacts(
        tuple(Anchored(text.place(each.start, each.start), Reveal(each.text)) for each in sorted(revealed)),
        occurrences=tuple(seen[anchor] for anchor in sorted(seen)),
    )


class _Text:
    """A file, whose places `ast` counts in bytes of UTF-8."""

    def __init__(self, source: Source) -> None:
        self._file = source.display
        self._lines = source.text.split("\n")
        self.tree = ast.parse(source.text)

    def place(self, start: _At, end: _At) -> Place:
        """Return a stretch as people count it."""
        return Place(self._file, start[0], self._column(start), end[0], self._column(end))

    def _column(self, at: _At) -> int:
        return len(self._lines[at[0] - 1].encode()[: at[1]].decode(errors="replace")) + 1


def _occurrences(text: _Text, values: dict[tuple[_At, _At], Seen]) -> Iterator[Occurrence]:
    """Yield each value where its name is read or bound; an assignment binds the value on its right."""
    for node in ast.walk(text.tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            seen = values.get(_span(node.value))
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if seen is not None and isinstance(target, (ast.Name, ast.Attribute)):
                    yield _occurrence(text, target, seen, True)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and _span(node) in values:
            yield _occurrence(text, node, values[_span(node)], False)


def _occurrence(text: _Text, node: ast.expr, seen: Seen, binds: bool) -> Occurrence:
    start, end = _span(node)
    named = node.func if isinstance(node, ast.Call) else node
    first, last = _span(named)
    if isinstance(named, ast.Attribute):
        first = last[0], last[1] - len(named.attr.encode())
    device = _device(seen.text)
    return Occurrence(
        text.place(start, end), text.place(first, last), seen.kind, seen.of, seen.text, (device,), (), binds
    )


def _span(node: ast.expr) -> tuple[_At, _At]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _device(text: str) -> Device:
    """Return a device in the notation of the domain."""
    if text.startswith("device of "):
        return Variable(AccessPath.of_dotted(text.removeprefix("device of ")))
    return parse(text) or UNKNOWN_DEVICE
