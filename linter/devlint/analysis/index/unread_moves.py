"""Moves of a loop's variable whose result nobody reads.

    for part in parts:
        part = part.to(device)

The next turn binds the name anew, and `parts` still holds the old tensors.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.index.loops import instructions_of
from devlint.frontend import ir
from devlint.torchlib.knowledge import MOVES


def unread_moves(scope: ir.Scope) -> frozenset[ir.Span]:
    """Return the calls such as `part.to(device)` of a body whose result is bound to `part` and never read."""
    return frozenset(span for loop in _loops(scope) for span in _unread_in(scope, loop))


def _loops(scope: ir.Scope) -> Iterator[ir.For]:
    for item in instructions_of(scope.body, into_loops=True):
        if isinstance(item, ir.For) and not item.comprehension:
            yield item


def _unread_in(scope: ir.Scope, loop: ir.For) -> Iterator[ir.Span]:
    inside = list(instructions_of(loop.body, into_loops=False))  # an inner loop may read what its last turn bound
    attributes = {item.target: item for item in inside if isinstance(item, ir.Attribute)}
    loads = {item.target: item.name for item in inside if isinstance(item, ir.Load)}
    moves = {
        item.target: item
        for item in inside
        if isinstance(item, ir.Call) and item.function in attributes and attributes[item.function].name in MOVES
    }
    turned = _bound_by_a_turn(loop) - {*scope.global_names, *scope.nonlocal_names}  # those are read elsewhere
    for item in inside:
        if not isinstance(item, ir.Store) or item.name not in turned or item.source not in moves:
            continue
        call = moves[item.source]
        moved = loads.get(attributes[call.function].base)
        if moved == item.name and not _is_read_behind(scope, loop, item.name, call.span):
            yield call.span


def _bound_by_a_turn(loop: ir.For) -> set[str]:
    """The names to which each turn binds an element, or a part of one."""
    parts = {loop.element}
    names: set[str] = set()
    for item in loop.body:
        if isinstance(item, ir.Unpack) and item.source in parts:
            parts.update(item.targets)
        elif isinstance(item, ir.Store) and item.source in parts:
            names.add(item.name)
        elif not isinstance(item, (ir.Unpack, ir.Store)):
            break
    return names


def _is_read_behind(scope: ir.Scope, loop: ir.For, name: str, span: ir.Span) -> bool:
    """Whether a body may read a name after a place in a loop, before the next turn of the loop binds it anew."""
    begin, end = (loop.span.line, loop.span.column), (span.end_line, span.end_column)
    for item in instructions_of(scope.body, into_loops=True):
        match item:
            case ir.Load(name=read, span=at) if read == name and not begin <= (at.line, at.column) < end:
                return True
            case ir.MakeFunction(function=inner) | ir.MakeClass(body=inner) if _reads(inner, name):
                return True
            case _:
                pass
    return False


def _reads(scope: ir.Scope, name: str) -> bool:
    """Whether a function or class in a body reads a name, whenever it is called."""
    return any(
        (isinstance(item, ir.Load) and item.name == name)
        or (isinstance(item, ir.MakeFunction) and _reads(item.function, name))
        or (isinstance(item, ir.MakeClass) and _reads(item.body, name))
        for item in instructions_of(scope.body, into_loops=True)
    )
