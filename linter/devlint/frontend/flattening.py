"""Text that is nested too deeply for LibCST, with the deepest parts replaced by a name.

LibCST nests what people write side by side: each call of `x.a().b().c()` holds the one before it, each `elif` stands in
the `else` of the one before it, and so do the operands of `a + b + c`, the pieces of a text in several quotes and the
names of `import a.b.c`. A few hundred of them are more than its native parser and its visitors can take. A replaced
stretch keeps its lines and columns, so everything else stays in its place.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import TypeAlias

from devlint.records import dataclass

MAX_DEPTH = 400
"""The deepest nesting of expressions and statements that is given to LibCST.

Its parser is native code and recursive: it ends the process on a few thousand levels (libcst 1.9). Python's
own parser refuses 200 nested brackets, but neither long chains of operators nor long chains of `elif`.
"""

CUT_BELOW = 300
"""Code beyond `MAX_DEPTH` is cut here, so that the cut is long enough for a name in its place."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SHORT_TEXT = 100
"""Characters of a literal that cannot have too many pieces."""

_WHOLE = (ast.JoinedStr, ast.pattern, ast.Import, ast.ImportFrom)
"""Nodes with parts that a name cannot replace; they are replaced as a whole."""

_NO_VALUE = (ast.Starred, ast.Slice, ast.FormattedValue)
"""Expressions that a name in brackets cannot stand for."""

Stretch: TypeAlias = tuple[int, int, int, int]
"""Line, column, end line and end column as LibCST counts: lines from 1, columns in code points from 0."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A text that LibCST can take.

    Attributes:
        text: the text, with `(_)` where something was cut, or nothing where that was an `elif`.
        depth: how deeply it is nested.
        cut: the cut stretches, in source order.
    """

    text: str
    depth: int
    cut: tuple[Stretch, ...] = ()


def lines_with_ends(text: str) -> list[str]:
    """Split a program into lines as Python counts them, each with its end."""
    return _LINE.findall(text)


def flatten(text: str, most: int = MAX_DEPTH, below: int = CUT_BELOW) -> Flat:
    """Return a text without the code that is nested too deeply.

    Args:
        text: a program.
        most: how deep it may be.
        below: where to cut what goes deeper.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot parse it, or too deep nesting is left.
    """
    tree = ast.parse(text)
    lines = lines_with_ends(text)
    depths = _Depths(tree, lines)
    if depths.deepest(tree) <= most:
        return Flat(text, depths.deepest(tree))
    cut = sorted(depths.too_deep(tree, most, below))
    for stretch, is_branch in cut:
        _replace(lines, stretch, is_branch=is_branch)
    flat = "".join(lines)
    left = ast.parse(flat)
    deepest = _Depths(left, lines).deepest(left)
    if deepest > MAX_DEPTH:
        raise RecursionError("nested too deeply")
    return Flat(flat, deepest, tuple(stretch for stretch, _ in cut))


class _Depths:
    """How deeply LibCST nests what `ast` has, perhaps, side by side."""

    def __init__(self, tree: ast.AST, lines: list[str]) -> None:
        self._lines = lines
        self._own: dict[ast.AST, int] = {}
        self._below: dict[ast.AST, int] = {}
        self._counted: set[ast.AST] = set()
        order: list[ast.AST] = [tree]
        for node in order:
            self._counted.update(_parts_of_text(node))
            order.extend(ast.iter_child_nodes(node))
        for node in reversed(order):
            inner = max((self._below[child] for child in ast.iter_child_nodes(node)), default=0)
            self._own[node] = own = self._levels(node)
            self._below[node] = own + inner

    def deepest(self, node: ast.AST) -> int:
        """Return how many levels a node has, with those below it."""
        return self._below[node]

    def _levels(self, node: ast.AST) -> int:
        match node:
            case ast.BoolOp(values=values):
                return len(values)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return 1 + len(node.generators)
            case ast.Import(names=names):
                return 1 + max(alias.name.count(".") for alias in names)
            case ast.ImportFrom(module=str(module)):
                return 1 + module.count(".")
            case ast.JoinedStr() | ast.Constant(value=str() | bytes()) if hasattr(node, "lineno"):
                return 1 if node in self._counted else self._pieces(node)
            case _:
                return 1

    def _pieces(self, node: ast.expr) -> int:
        """Return how many literals side by side make a text."""
        line, column, end_line, end_column = self.stretch(node)
        if line == end_line and end_column - column < _SHORT_TEXT:
            return 1
        parts = self._lines[line - 1 : end_line]
        if not parts:  # Python before 3.12 does not say where the parts of an f-string are
            return 1
        parts[-1] = parts[-1][:end_column]
        parts[0] = parts[0][column:]
        source = "".join(parts)
        if source.count('"') + source.count("'") < _SHORT_TEXT:
            return 1
        begin = (tokenize.STRING, getattr(tokenize, "FSTRING_START", tokenize.STRING))
        try:
            tokens = tokenize.generate_tokens(io.StringIO(f"({source})").readline)
            return max(sum(token.type in begin for token in tokens), 1)
        except (tokenize.TokenError, SyntaxError):
            return 1

    def too_deep(self, tree: ast.AST, most: int, below: int) -> Iterator[tuple[Stretch, bool]]:
        """Yield the stretches to cut, and whether each is an `elif`."""
        pending: list[tuple[ast.AST, int, bool]] = [(tree, 0, False)]
        while pending:
            node, above, is_branch = pending.pop()
            if above + self._below[node] <= most:
                continue
            depth = above + self._own[node]
            is_value = isinstance(node, ast.expr) and not isinstance(node, _NO_VALUE)
            if self._has_room(node) and (isinstance(node, _WHOLE) or (depth > below and (is_value or is_branch))):
                yield self.stretch(node), is_branch
                continue
            pending += [(child, depth, self._is_branch(node, child)) for child in ast.iter_child_nodes(node)]

    def _is_branch(self, node: ast.AST, child: ast.AST) -> bool:
        """Whether a statement is an `elif` of another one."""
        if not (isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]):
            return False
        line, column, _, _ = self.stretch(child)
        return self._lines[line - 1].startswith("elif", column)

    def _has_room(self, node: ast.AST) -> bool:
        """Whether a node is long enough for a name in brackets."""
        if not hasattr(node, "lineno"):
            return False
        line, column, end_line, end_column = self.stretch(node)
        return end_line > line + 1 or end_column - column > 2

    def stretch(self, node: ast.AST) -> Stretch:
        """Return where a node stands."""
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return line, self._column(line, column), end_line, self._column(end_line, end_column)

    def _column(self, line: int, column: int) -> int:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        if text.isascii():
            return column
        return len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))


def _parts_of_text(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the texts in an f-string, whose pieces are counted with those of the f-string.

    Before Python 3.12, each of these texts stands where the whole f-string does.
    """
    if isinstance(node, ast.JoinedStr):
        yield from (value for value in node.values if isinstance(value, ast.Constant))
    elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        yield node.format_spec


def _replace(lines: list[str], stretch: Stretch, *, is_branch: bool) -> None:
    """Put a name in brackets in the place of a stretch; blanks in that of an `elif` and the rest of its line."""
    line, column, end_line, end_column = stretch
    if is_branch:
        end_column = len(lines[end_line - 1].rstrip("\r\n"))
    wanted = [] if is_branch else ["(", "_"]
    last: tuple[int, int] | None = None
    for number in range(line, end_line + 1):
        text = lines[number - 1]
        start = column if number == line else 0
        end = end_column if number == end_line else len(text.rstrip("\r\n"))
        made = []
        for at in range(start, end):
            made.append(wanted.pop(0) if wanted else " ")
            last = number, at
        lines[number - 1] = text[:start] + "".join(made) + text[end:]
    if last is not None and not is_branch:
        number, at = last
        lines[number - 1] = lines[number - 1][:at] + ")" + lines[number - 1][at + 1 :]
