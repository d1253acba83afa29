"""A file as LibCST has it, in pieces that outlive an edit.

A piece is a statement at the top level of a file, with the lines between it and the statement before. LibCST parses
each piece for itself, so after an edit it parses only the pieces with another text. Where the nodes of a piece stand,
and which node is in which, is found when something asks about one of them, and kept with the piece: it counts lines
from its own first one.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from itertools import accumulate, pairwise
from sys import getrecursionlimit, setrecursionlimit
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from devlint.frontend.flattening import Flat, Stretch, flatten, lines_with_ends

NodeT = TypeVar("NodeT", bound=cst.CSTNode)

_FRAMES_PER_LEVEL = 12
"""At most so many Python frames does LibCST need for one level of nesting (measured: 10)."""

_MOST_TEXT = 500_000
"""How many characters the files have together whose trees are kept for their next texts."""


class Piece:
    """One or more statements at the top level, which share a line if they are several.

    Args:
        text: its lines.
        is_first: it begins the file; the comments above all other ones belong to their first statement.

    Attributes:
        flat: its text without the code that is nested too deeply.
        module: the piece as a file of its own.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot parse the text, or not as deep.
        ParserSyntaxError: LibCST cannot parse it.
    """

    def __init__(self, text: str, *, is_first: bool) -> None:
        self.text = text
        self.flat: Flat = flatten(text)
        module = cst.parse_module(_without_leading_form_feeds(self.flat.text))
        self.module = module if is_first else _with_header_in_body(module)

    @cached_property
    def stretches(self) -> dict[cst.CSTNode, Stretch]:
        """Where each node stands, inner ones before outer ones; of two with one stretch, the outer one is the later.

        Python counts the form feeds that begin a line; LibCST does not.
        """
        with room_for(self.flat.depth):
            found = MetadataWrapper(self.module, True).resolve(PositionProvider)
        fed = _form_feeds(self.flat.text)

        def stretch(range_: CodeRange) -> Stretch:
            start, end = range_.start, range_.end
            return start.line, start.column + fed.get(start.line, 0), end.line, end.column + fed.get(end.line, 0)

        return {node: stretch(range_) for node, range_ in found.items()}

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """What each node is in. The nodes are in such an order that those within a node stand directly behind it."""
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        pending: list[tuple[cst.CSTNode, cst.CSTNode]] = [(part, self.module) for part in _parts(self.module)]
        while pending:
            node, parent = pending.pop()
            found[node] = parent
            pending += [(part, node) for part in _parts(node)]
        return found

    @cached_property
    def _numbers(self) -> dict[cst.CSTNode, int]:
        return {node: number for number, node in enumerate(self.parents)}

    @cached_property
    def _last(self) -> dict[cst.CSTNode, int]:
        """The highest number of a node within each node."""
        last = dict(self._numbers)
        for node, parent in reversed(self.parents.items()):
            if parent in last:
                last[parent] = max(last[parent], last[node])
        return last

    @cached_property
    def by_kind(self) -> dict[type[cst.CSTNode], list[cst.CSTNode]]:
        """The nodes of each class, in the order of `parents`."""
        found: dict[type[cst.CSTNode], list[cst.CSTNode]] = {}
        for node in self.parents:
            found.setdefault(type(node), []).append(node)
        return found

    def within(self, node: cst.CSTNode, kind: type[cst.CSTNode]) -> list[cst.CSTNode]:
        """Return the nodes of exactly that class in a node, itself included."""
        nodes = self.by_kind.get(kind, [])
        first = bisect_left(nodes, self._numbers[node], key=self._numbers.__getitem__)
        behind = bisect_right(nodes, self._last[node], key=self._numbers.__getitem__)
        return nodes[first:behind]


class Tree:
    """The nodes of a file.

    Args:
        text: the file.
        before: the tree of an earlier text of the file, whose pieces are taken over where their text is the same.

    Attributes:
        module: the whole file as one node. Its statements are those of the pieces.
        depth: how deeply the code is nested.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError, ParserSyntaxError: as for `Piece`.
    """

    def __init__(self, text: str, before: Tree | None = None) -> None:
        self.text = text
        self._by_text: dict[tuple[str, int], Piece] = {}
        """The pieces by their text, and by how often that text stands above them; the first one is not among them."""
        try:
            self.pieces = self._parsed(_split(text), before)
        except (SyntaxError, cst.ParserSyntaxError):
            self.pieces = []
        if not self.pieces or not _is_uniform(self.pieces):
            # A statement that goes on in an empty line has another end for LibCST than for Python, for example.
            self.pieces = self._parsed([text], before)
        self._firsts = [0, *accumulate(len(lines_with_ends(piece.text)) for piece in self.pieces[:-1])]
        self._owners: dict[cst.CSTNode, int] = {}
        self.depth = max(piece.flat.depth for piece in self.pieces)
        self.module = _joined(self.pieces)

    def _parsed(self, parts: Sequence[str], before: Tree | None) -> list[Piece]:
        self._by_text.clear()
        first, *others = parts
        known = {} if before is None else before._by_text
        if before is not None and before.pieces[0].text == first:
            pieces = before.pieces[:1]
        else:
            pieces = [Piece(first, is_first=True)]
        counts = Counter[str]()
        for part in others:
            key = part, counts[part]
            counts[part] += 1
            self._by_text[key] = piece = known.get(key) or Piece(part, is_first=False)
            pieces.append(piece)
        return pieces

    @property
    def is_cut(self) -> bool:
        """Whether code is missing that is nested too deeply."""
        return any(piece.flat.cut for piece in self.pieces)

    def number_at(self, line: int) -> int:
        """Return the number of the piece that a line belongs to."""
        return max(bisect_right(self._firsts, line - 1) - 1, 0)

    def nodes_of(self, number: int) -> Iterator[tuple[cst.CSTNode, Stretch]]:
        """Yield the nodes of a piece, outer ones before inner ones, and where they stand in the file."""
        self._open(number)
        lines = self._firsts[number]
        for node, (line, column, end_line, end_column) in reversed(self.pieces[number].stretches.items()):
            yield node, (line + lines, column, end_line + lines, end_column)

    def stretch(self, node: cst.CSTNode) -> Stretch:
        """Return where a node stands.

        Raises:
            KeyError: it is no node of the file.
        """
        if node is self.module:
            _, _, end_line, end_column = self.stretch(self.pieces[-1].module)
            return 1, 0, end_line, end_column
        number = self._number_of(node)
        line, column, end_line, end_column = self.pieces[number].stretches[node]
        lines = self._firsts[number]
        return line + lines, column, end_line + lines, end_column

    def line_of(self, node: cst.CSTNode) -> int | None:
        """Return the line on which a node begins; None if it is no node of the file."""
        try:
            return self.stretch(node)[0]
        except KeyError:
            return None

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what a node is in, from the inside out; the last one is the module."""
        if node is self.module:
            return
        piece = self.pieces[self._number_of(node)]
        while (node := piece.parents[node]) is not piece.module:
            yield node
        yield self.module

    def within(self, node: cst.CSTNode, kind: type[NodeT]) -> Iterator[NodeT]:
        """Yield the nodes of exactly that class in a node, itself included, in no particular order."""
        if node is not self.module:
            yield from cast("list[NodeT]", self.pieces[self._number_of(node)].within(node, kind))
            return
        for number in range(len(self.pieces)):
            yield from cast("list[NodeT]", self.of_kind(number, kind))

    def of_kind(self, number: int, kind: type[NodeT]) -> list[NodeT]:
        """Return the nodes of a piece of exactly that class."""
        self._open(number)
        return cast("list[NodeT]", self.pieces[number].by_kind.get(kind, []))

    def _number_of(self, node: cst.CSTNode) -> int:
        """Return the number of the piece with a node."""
        if node not in self._owners:
            for number in range(len(self.pieces)):
                self._open(number)
        return self._owners[node]

    def _open(self, number: int) -> None:
        """Note whose nodes those of a piece are."""
        piece = self.pieces[number]
        if piece.module not in self._owners:
            self._owners.update(dict.fromkeys(piece.parents, number))
            self._owners[piece.module] = number


class Trees:
    """The trees of the files that were asked for last, which hand their pieces on to the next tree of the file."""

    def __init__(self) -> None:
        self._kept: dict[str, Tree] = {}

    def of(self, text: str, display: str) -> Tree:
        """Return the tree of a file with this text; raises what `Tree` does."""
        before = self._kept.pop(display, None)
        tree = before if before is not None and before.text == text else Tree(text, before)
        self._kept[display] = tree
        while len(self._kept) > 1 and sum(len(kept.text) for kept in self._kept.values()) > _MOST_TEXT:
            del self._kept[next(iter(self._kept))]
        return tree


@contextmanager
def room_for(depth: int) -> Iterator[None]:
    """Lets LibCST's visitors, which are recursive Python functions, go that deep."""
    before = getrecursionlimit()
    setrecursionlimit(before + _FRAMES_PER_LEVEL * depth)
    try:
        yield
    finally:
        setrecursionlimit(before)


def _split(text: str) -> list[str]:
    """Return the lines of each statement at the top level, with the lines before it; the last one has those behind it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot parse the text.
    """
    body = ast.parse(text).body
    ends = [one.end_lineno or 0 for one, following in pairwise(body) if following.lineno > (one.end_lineno or 0)]
    lines = lines_with_ends(text)
    return ["".join(lines[start:end]) for start, end in pairwise([0, *ends, len(lines)])]


def _is_uniform(pieces: Sequence[Piece]) -> bool:
    """Whether indentation and ends of lines that a node leaves out mean the same in all pieces."""
    newlines = {piece.module.default_newline for piece in pieces if piece.module.has_trailing_newline}
    return len(newlines) <= 1 and len(_indents(pieces)) <= 1


def _indents(pieces: Sequence[Piece]) -> set[str]:
    """Return the indentations of the blocks; LibCST has one for a piece without blocks, too."""
    found = {piece.module.default_indent for piece in pieces}
    if len(found) > 1:
        return {piece.module.default_indent for piece in pieces if cst.IndentedBlock in piece.by_kind}
    return found


def _joined(pieces: Sequence[Piece]) -> cst.Module:
    """Return one module with the statements of all pieces."""
    first, last = pieces[0].module, pieces[-1].module
    if first is last:
        return first
    return first.with_changes(
        body=[statement for piece in pieces for statement in piece.module.body],
        footer=last.footer,
        has_trailing_newline=last.has_trailing_newline,
        default_indent=min(_indents(pieces), default=first.default_indent),
    )


def _with_header_in_body(module: cst.Module) -> cst.Module:
    """Return the module with the comments above its first statement as a part of the statement."""
    if not module.header:
        return module
    first, *others = module.body
    first = first.with_changes(leading_lines=(*module.header, *first.leading_lines))
    return module.with_changes(header=(), body=(first, *others))


def _form_feeds(text: str) -> dict[int, int]:
    """Return by line how many form feeds begin it; Python ignores them."""
    lines = enumerate(lines_with_ends(text), start=1) if "\f" in text else ()
    return {number: len(line) - len(line.lstrip("\f")) for number, line in lines if line.startswith("\f")}


def _without_leading_form_feeds(text: str) -> str:
    """Return the text without the form feeds that begin its lines: LibCST drops them without counting their columns."""
    return "".join(line.lstrip("\f") for line in lines_with_ends(text)) if "\f" in text else text


_FIELDS: dict[type[cst.CSTNode], tuple[str, ...]] = {}
"""The names of the fields that the nodes of a class have."""


def _parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes that a node is made of; LibCST's own `children` finds them by a visit, which takes far longer."""
    kind = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind))
    for name in _FIELDS[kind]:
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from value
