"""Changes of one line of the user's source, each tried before it is offered: the file still has to be Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile

from devlint_guard.finding import Advice, Change, Changes, Step
from devlint_guard.program.expressions import as_device, attached
from devlint_guard.program.frames import line_in_code, nodes_around, span_of
from devlint_guard.program.functions import Scope


def advised(text: str, changes: Changes, cause: Step | None = None) -> Iterator[Advice]:
    """What to do, if it can be carried out."""
    if changes:
        yield Advice(text, changes, cause)


def with_keyword(scope: Scope, call: ast.Call, name: str, value: str) -> Changes:
    """A call with a keyword argument more, or with another value for one that it has."""
    given = next((one for one in call.keywords if one.arg == name), None)
    if given is not None:
        return replaced(scope, given.value, value)
    line, column = span_of(call)[1]
    before = scope.source.line(line).encode()[: column - 1].decode(errors="ignore").rstrip()
    comma = " " if before.endswith(",") else "" if before.endswith("(") or not before else ", "
    return _spliced(scope, line, (column - 1, column - 1), f"{comma}{name}={value}")


def replaced(scope: Scope, node: ast.expr | ast.stmt, text: str) -> Changes:
    """Another expression, or statement, in the place of one that stands on one line."""
    (line, start), (end_line, end) = span_of(node)
    return _spliced(scope, line, (start, end), text) if line == end_line else ()


def surrounded(scope: Scope, node: ast.expr, before: str, after: str) -> Changes:
    """An expression with something on both sides; of one that goes over several lines, the first and the last."""
    (line, start), (end_line, end) = span_of(node)
    if line == end_line:
        return replaced(scope, node, f"{before}{scope.source.of(node)}{after}")
    opened, closed = _with(scope, line, (start, start), before), _with(scope, end_line, (end, end), after)
    return _changed(scope, (line, opened), (end_line, closed))


def merged(changes: Sequence[Change]) -> Changes:
    """Several changes as one for each line; of two that change the same part of a line, the first."""
    lines: dict[tuple[str, int], list[Change]] = {}
    for change in changes:
        lines.setdefault((change.place.file, change.place.line), []).append(change)
    return tuple(map(_merged, lines.values()))


def _merged(changes: Sequence[Change]) -> Change:
    parts: list[tuple[int, int, str]] = []
    for start, end, text in map(_part, changes):
        if (start, end, text) not in parts and all(end <= first or last <= start for first, last, _ in parts):
            parts.append((start, end, text))
    line = changes[0].before
    for start, end, text in sorted(parts, reverse=True):
        line = line[:start] + text + line[end:]
    return Change(changes[0].place, changes[0].before, line)


def _part(change: Change) -> tuple[int, int, str]:
    """The part of a line that a change exchanges, and the new text."""
    before, after = change.before, change.after
    same = _common(before[::-1], after[::-1])
    end, end_after = len(before) - same, len(after) - same
    start = _common(before[:end], after[:end_after])
    return start, end, after[start:end_after]


def _common(one: str, other: str) -> int:
    """How long the beginning is that two texts share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def followed_by(scope: Scope, node: ast.expr, suffix: str) -> Changes:
    """An expression with something behind it, such as `.to(device)`, in parentheses where it needs them.

    A copy to the CPU that ends the expression gives way to a move. Nothing where a move elsewhere ends it: a second one
    would not be the last.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="cpu")):
            is_move = suffix.startswith(".to(")
            return replaced(scope, node, attached(scope.source.of(receiver)) + suffix) if is_move else ()
        case ast.Call(func=ast.Attribute(attr="detach")):
            suffix = suffix.removeprefix(".detach()")
        case ast.Call(func=ast.Attribute(value=receiver, attr="cuda" | "to" as method), args=given, keywords=named):
            target = as_device(scope.reader.value(given[0])) if given else None
            if suffix.startswith(".to(") and (method == "cuda" or target is not None):
                is_whole = target is not None and target.type == "cpu" and len(given) == 1 and not named
                return replaced(scope, node, attached(scope.source.of(receiver)) + suffix) if is_whole else ()
    text = scope.source.of(node)
    if attached(text) != text:
        return replaced(scope, node, attached(text) + suffix)
    line, column = span_of(node)[1]
    return _spliced(scope, line, (column, column), suffix)


def preceded_by(scope: Scope, node: ast.AST, statement: str) -> Changes:
    """The statement that a node is in, with another one before it."""
    around = statement_of(scope, node)
    line = "" if around is None else scope.source.line(around.lineno)
    start = "" if around is None else line.encode()[: around.col_offset].decode(errors="ignore")
    if around is None or start.strip():
        return ()
    return _changed(scope, (around.lineno, f"{_indented(statement, start)}\n{line}"))


def behind(scope: Scope, statement: ast.stmt, text: str) -> Changes:
    """A statement without others in it, with further ones behind it."""
    if hasattr(statement, "body"):
        return ()
    first, number = scope.source.line(statement.lineno), span_of(statement)[1][0]
    start = first[: len(first) - len(first.lstrip())]
    return _changed(scope, (number, f"{scope.source.line(number)}\n{_indented(text, start)}"))


def _indented(text: str, start: str) -> str:
    return "\n".join(f"{start}{line}" for line in text.split("\n"))


def imported_too(scope: Scope, name: str) -> Changes | None:
    """What makes a file import a module: no change if it does; None where there is no line for it."""
    body = scope.source.tree.body
    if any(isinstance(one, ast.Import) and any(alias.name == name for alias in one.names) for one in body):
        return ()
    imports = (one for one in body if isinstance(one, (ast.Import, ast.ImportFrom)))
    first = next((one for one in imports if getattr(one, "module", "") != "__future__"), None)
    return None if first is None else preceded_by(scope, first, f"import {name}") or None


def statement_of(scope: Scope, node: ast.AST) -> ast.stmt | None:
    """The statement that a node is in, if another one can stand before it and is executed with it each time."""
    around = [one for one in nodes_around(scope.source.tree, *span_of(node)) if isinstance(one, ast.stmt)]
    found = around[-1] if around else None
    if isinstance(found, (ast.While, ast.If)) and any(inner is node for inner in ast.walk(found.test)):
        is_elif = scope.source.line(found.lineno).strip().startswith("elif")
        return None if is_elif or isinstance(found, ast.While) else found
    return found


def _spliced(scope: Scope, number: int, columns: tuple[int, int], text: str) -> Changes:
    return _changed(scope, (number, _with(scope, number, columns, text)))


def _with(scope: Scope, number: int, columns: tuple[int, int], text: str) -> str:
    """A line with other text between two columns."""
    line = scope.source.line(number).encode()
    return (line[: columns[0]] + text.encode() + line[columns[1] :]).decode(errors="replace")


def _changed(scope: Scope, *edits: tuple[int, str]) -> Changes:
    """Lines with other texts, if they differ and the file stays Python."""
    lines = scope.source.text.split("\n")
    found = [Change(line_in_code(scope.code, number), lines[number - 1], after) for number, after in edits]
    for number, after in edits:
        lines[number - 1] = after
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(found) if all(one.before != one.after for one in found) else ()
