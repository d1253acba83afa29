"""Entry point of lowering: from source text to an `ir.File`."""

from __future__ import annotations

import ast
import re
import warnings

from devlint.definitions import imports_of, parts_of, rebound_in
from devlint.frontend import comprehensions, definitions, expressions, ir, statements
from devlint.frontend.scopes import ScopeBuilder, Tables

_TABLES = Tables(
    values=expressions.VALUES | comprehensions.VALUES | definitions.VALUES,
    statements=statements.STATEMENTS | definitions.STATEMENTS,
)
_LINE_END = re.compile(r"\r\n|\r|\n")


class NestingError(SyntaxError, RecursionError):
    """The source is nested more deeply than Python's parser or lowering can follow."""


def lower(text: str, filename: str) -> ir.File:
    """Parses and lowers one source file.

    Args:
        text: the decoded source.
        filename: what error messages call the file.

    Raises:
        SyntaxError: the text is not Python as the running interpreter knows it.
        NestingError: a SyntaxError for text that is nested too deeply.
    """
    with warnings.catch_warnings():
        # Doubtful escapes and comparisons are for other tools to report.
        warnings.simplefilter("ignore")
        try:
            return lower_tree(ast.parse(text, filename), text)
        except (MemoryError, RecursionError) as error:
            # The parser of CPython says MemoryError when its own stack is used up.
            raise NestingError("nested too deeply", (filename, 1, 1, None)) from error
        except ValueError as error:
            # Null characters, before Python 3.12, and lone surrogates.
            raise SyntaxError(str(error), (filename, 1, 1, None)) from error


def lower_tree(tree: ast.Module, text: str) -> ir.File:
    """Lowers a parsed file; `text` is its source text."""
    scope = ScopeBuilder("", _TABLES, {})
    scope.run(tree.body)
    # At the level of a file, `global` declares what holds anyway.
    return ir.File(
        name="",
        body=tuple(scope.out),
        local_names=frozenset(scope.store_counts),
        global_names=frozenset(),
        nonlocal_names=frozenset(),
        registers=scope.registers,
        span=_whole(text),
        store_counts=scope.store_counts,
        parts=parts_of(tree, text),
        imports=imports_of(tree),
        rebound=rebound_in(tree, text),
    )


def _whole(text: str) -> ir.Span:
    """From the first line to the end of the last, a last line without text not counted."""
    lines = _LINE_END.split(text)
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return ir.Span(1, 0, len(lines), len(lines[-1].encode("utf-8", "surrogatepass")))
