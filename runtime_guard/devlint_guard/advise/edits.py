"""Changes of one line of the user's source, each tried before it is offered: the file still has to be Python."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence

from devlint_guard.finding import Change, Place
from devlint_guard.program.expressions import as_device, attached
from devlint_guard.program.frames import nodes_around, shown_path
from devlint_guard.program.functions import Scope


def with_keyword(scope: Scope, call: ast.Call, name: str, value: str) -> Change | None:
    """A call with a keyword argument more, or with another value for one that it has."""
    given = next((one for one in call.keywords if one.arg == name), None)
    if given is not None:
        return replaced(scope, given.value, value)
    if call.end_lineno is None or call.end_col_offset is None:
        return None
    line = _line(scope, call.end_lineno)
    before = line.encode()[: call.end_col_offset - 1].decode(errors="ignore").rstrip()
    comma = "" if before.endswith(("(", ",")) or not before else ", "
    comma = " " if before.endswith(",") else comma
    return _spliced(scope, call.end_lineno, (call.end_col_offset - 1,) * 2, f"{comma}{name}={value}")


def replaced(scope: Scope, node: ast.expr | ast.stmt, text: str) -> Change | None:
    """Another expression, or statement, in the place of one that stands on one line."""
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return None
    return _spliced(scope, node.lineno, (node.col_offset, node.end_col_offset), text)


def surrounded(scope: Scope, node: ast.expr, before: str, after: str) -> tuple[Change, ...]:
    """An expression with something on both sides; of one that goes over several lines, the first and the last."""
    if node.end_lineno == node.lineno:
        return all_of(replaced(scope, node, f"{before}{scope.source.of(node)}{after}"))
    if node.end_lineno is None or node.end_col_offset is None:
        return ()
    lines = scope.source.text.split("\n")
    first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
    opened = (first[: node.col_offset] + before.encode() + first[node.col_offset :]).decode(errors="replace")
    closed = (last[: node.end_col_offset] + after.encode() + last[node.end_col_offset :]).decode(errors="replace")
    lines[node.lineno - 1], lines[node.end_lineno - 1] = opened, closed
    if not _is_python("\n".join(lines)):
        return ()
    pairs = ((node.lineno, first.decode(), opened), (node.end_lineno, last.decode(), closed))
    return tuple(_on_line(scope, number, old, new) for number, old, new in pairs)


def all_of(change: Change | None) -> tuple[Change, ...]:
    """The changes of an advice: none where the one cannot be made."""
    return () if change is None else (change,)


def merged(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Several changes as one for each line; of two that change the same part of a line, the first."""
    lines: dict[tuple[str, int], list[Change]] = {}
    for change in changes:
        lines.setdefault((change.place.file, change.place.line), []).append(change)
    return tuple(_all_of(found) for found in lines.values())


def _all_of(changes: Sequence[Change]) -> Change:
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
    end = 0
    while end < min(len(before), len(after)) and before[-1 - end] == after[-1 - end]:
        end += 1
    start = 0
    while start < min(len(before), len(after)) - end and before[start] == after[start]:
        start += 1
    return start, len(before) - end, after[start : len(after) - end]


def followed_by(scope: Scope, node: ast.expr, suffix: str) -> Change | None:
    """An expression with something behind it, such as `.to(device)`, in parentheses where it needs them.

    A copy to the CPU that ends the expression gives way to a move. None where a move elsewhere ends it: a second one
    would not be the last.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=receiver, attr="cpu")) if suffix.startswith(".to("):
            return replaced(scope, node, attached(scope.source.of(receiver)) + suffix)
        case ast.Call(func=ast.Attribute(attr="cpu")):
            return None
        case ast.Call(func=ast.Attribute(attr="detach")):
            suffix = suffix.removeprefix(".detach()")
        case ast.Call(func=ast.Attribute(value=receiver, attr="cuda" | "to" as method), args=given, keywords=named):
            target = as_device(scope.reader.value(given[0])) if given else None
            if suffix.startswith(".to(") and (method == "cuda" or target is not None):
                is_whole = target is not None and target.type == "cpu" and len(given) == 1 and not named
                return replaced(scope, node, attached(scope.source.of(receiver)) + suffix) if is_whole else None
    text = scope.source.of(node)
    if attached(text) != text:
        return replaced(scope, node, attached(text) + suffix)
    if node.end_lineno is None or node.end_col_offset is None:
        return None
    return _spliced(scope, node.end_lineno, (node.end_col_offset,) * 2, suffix)


def preceded_by(scope: Scope, node: ast.AST, statement: str) -> Change | None:
    """The statement that a node is in, with another one before it."""
    around = statement_of(scope, node)
    if around is None:
        return None
    line = _line(scope, around.lineno)
    start = line.encode()[: around.col_offset].decode(errors="ignore")
    if start.strip():
        return None
    return _change(scope, around.lineno, line, f"{_indented(statement, start)}\n{line}")


def behind(scope: Scope, statement: ast.stmt, text: str) -> Change | None:
    """A statement without others in it, with further ones behind it."""
    if hasattr(statement, "body") or statement.end_lineno is None:
        return None
    first, line = _line(scope, statement.lineno), _line(scope, statement.end_lineno)
    start = first[: len(first) - len(first.lstrip())]
    return _change(scope, statement.end_lineno, line, f"{line}\n{_indented(text, start)}")


def _indented(text: str, start: str) -> str:
    return "\n".join(f"{start}{line}" for line in text.split("\n"))


def imported_too(scope: Scope, name: str) -> list[Change] | None:
    """What makes a file import a module: no change if it does; None where there is no line for it."""
    body = scope.source.tree.body
    if any(isinstance(one, ast.Import) and any(alias.name == name for alias in one.names) for one in body):
        return []
    imports = (one for one in body if isinstance(one, (ast.Import, ast.ImportFrom)))
    first = next((one for one in imports if getattr(one, "module", "") != "__future__"), None)
    change = None if first is None else preceded_by(scope, first, f"import {name}")
    return None if change is None else [change]


def statement_of(scope: Scope, node: ast.AST) -> ast.stmt | None:
    """The statement that a node is in, if another one can stand before it and is executed with it each time."""
    if not isinstance(node, (ast.expr, ast.stmt)) or node.end_lineno is None or node.end_col_offset is None:
        return None
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    around = [one for one in nodes_around(scope.source.tree, start, end) if isinstance(one, ast.stmt)]
    found = around[-1] if around else None
    is_tested_again = isinstance(found, (ast.While, ast.If)) and any(inner is node for inner in ast.walk(found.test))
    if found is None or (is_tested_again and (isinstance(found, ast.While) or _is_elif(scope, found))):
        return None
    return found


def _is_elif(scope: Scope, statement: ast.stmt) -> bool:
    return _line(scope, statement.lineno).strip().startswith("elif")


def _spliced(scope: Scope, number: int, columns: tuple[int, int], text: str) -> Change | None:
    line = _line(scope, number)
    encoded = line.encode()
    after = (encoded[: columns[0]] + text.encode() + encoded[columns[1] :]).decode(errors="replace")
    return _change(scope, number, line, after)


def _change(scope: Scope, number: int, before: str, after: str) -> Change | None:
    lines = scope.source.text.split("\n")
    if before == after or number > len(lines):
        return None
    lines[number - 1] = after
    return _on_line(scope, number, before, after) if _is_python("\n".join(lines)) else None


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _on_line(scope: Scope, number: int, before: str, after: str) -> Change:
    function = scope.place(scope.source.tree.body[0]).function if scope.source.tree.body else ""
    return Change(Place(shown_path(scope.code.co_filename), number, 0, number, 0, function), before, after)


def _line(scope: Scope, number: int) -> str:
    lines = scope.source.text.split("\n")
    return lines[number - 1] if 0 < number <= len(lines) else linecache.getline(scope.code.co_filename, number)
