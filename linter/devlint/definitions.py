"""The outermost functions and classes of a file, with digests that tell which of them an edit has changed.

The analysis of one file rests on some definitions of other files, and seldom on all of them. A file is divided into its
*definitions*, each with the code of an outermost function or of the methods of an outermost class, and the *outside*:
everything that is executed when the file is imported. Comments and empty lines between statements belong to neither.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

OUTSIDE = ""
"""The name for the code in no definition."""


def definitions_of(tree: ast.Module, text: str) -> Mapping[str, str]:
    """Return a digest of each definition of a file by its name, and one of the outside.

    Definitions of the same name, such as those in two branches of a test, count as one.

    Args:
        tree: the syntax tree of the file.
        text: its source text.
    """
    lines = text.split("\n")
    literal = {line for first, last in _statements(tree.body) for line in range(first, last + 1)}
    inside: dict[str, list[str]] = defaultdict(list)
    outside: list[str] = []
    line = 1
    for name, function in _functions(tree.body):
        outside += _code(lines, line, function.lineno, literal)
        outside.append(_defined(function))
        line = (function.end_lineno or function.lineno) + 1
        inside[name] += lines[function.lineno - 1 : line - 1]
    outside += _code(lines, line, len(lines) + 1, literal)
    return {OUTSIDE: _digest(outside), **{name: _digest(content) for name, content in inside.items()}}


def _functions(body: Sequence[ast.AST]) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions that are in no other function, in order, with the definition that each belongs to."""
    for node, owner in _outermost(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield owner or node.name, node


def _statements(body: Sequence[ast.AST]) -> Iterator[tuple[int, int]]:
    """Yield the first and last lines of simple statements outside of functions, and of the headers of the others."""
    for node, _ in _outermost(body):
        for decorator in getattr(node, "decorator_list", ()):
            yield decorator.lineno, decorator.end_lineno
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = _line(node)
        begins = [_line(block[0]) for block in blocks(node)]
        yield first, max(first, min(begins) - 1) if begins else getattr(node, "end_lineno", first)


def _outermost(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Yield the statements outside of functions, in order, each with the outermost class around it; "" without one."""
    pending = [(iter(body), "")]
    while pending:
        nodes, owner = pending[-1]
        node = next(nodes, None)
        if node is None:
            pending.pop()
            continue
        yield node, owner
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = owner or (node.name if isinstance(node, ast.ClassDef) else "")
            pending.append((chain.from_iterable(blocks(node)), inside))


def _line(node: ast.AST) -> int:
    line: int = node.pattern.lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 1)
    return line


def blocks(node: ast.AST) -> Iterator[Sequence[ast.AST]]:
    """Yield the blocks of statements in a statement; handlers and cases are statements of a block of their own."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block


def _code(lines: Sequence[str], first: int, end: int, literal: set[int]) -> Iterator[str]:
    """Yield the lines from `first` to before `end`, without comments and empty lines between statements."""
    for number in range(first, end):
        line = lines[number - 1]
        if number in literal or not (line.isspace() or not line or line.lstrip().startswith("#")):
            yield line


def _defined(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return what the definition of a function does when it is executed: it computes defaults and binds a name."""
    defaults = (one for one in (*function.args.defaults, *function.args.kw_defaults) if one is not None)
    computed = [ast.dump(one) for one in defaults if not isinstance(one, ast.Constant)]
    return " ".join([type(function).__name__, " " * function.col_offset, function.name, *computed])


def _digest(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
