"""Which assignments of a variable may have been the last one when a place in a function is reached.

Read from the source alone: branches join, loops may run any number of times, and statements that leave the function end
their path.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import CodeType

from devlint_guard.program.frames import Position, first_line, span_of


@dataclass(frozen=True, slots=True)
class Binding:
    """An assignment, a loop, or another statement that gives a variable a value.

    Attributes:
        value: the expression.
        is_part: the variable takes one element of the value: in a loop, or where the value is unpacked.
    """

    statement: ast.stmt | ast.comprehension
    value: ast.expr
    is_part: bool = False

    @property
    def position(self) -> Position:
        """Where the expression begins."""
        return self.value.lineno, self.value.col_offset


Reached = tuple[Binding | None, ...]
"""Bindings that may be the last one, None for the value on entry; empty where no path leads."""

IsTarget = Callable[[ast.expr], bool]
Target = tuple[ast.expr, ast.expr, bool]
"""A target, the assigned expression, and whether the target takes a part of it."""


def definition_of(tree: ast.Module, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that a code object was compiled from; its decorators come before it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    named = (one for one in ast.walk(tree) if isinstance(one, kinds) and one.name == code.co_name)
    return next((one for one in named if first_line(one) == code.co_firstlineno), None)


def is_name(name: str) -> IsTarget:
    """Whether a target is a variable of this name."""
    return lambda target: isinstance(target, ast.Name) and target.id == name


def is_attribute(owner: str, name: str) -> IsTarget:
    """Whether a target is an attribute of a variable: `self.table`."""

    of_owner = is_name(owner)
    return lambda target: isinstance(target, ast.Attribute) and target.attr == name and of_owner(target.value)


def is_none(node: ast.expr) -> bool:
    """Whether an expression is the constant None, as of a variable that gets its value later."""
    return isinstance(node, ast.Constant) and node.value is None


def reaching(function: ast.AST, is_target: IsTarget, use: ast.AST | None) -> list[Binding | None]:
    """The bindings that may be the last one when a node is reached, in the order of the source.

    Args:
        function: a definition, or the tree of a file.
        is_target: whether a node is the variable.
        use: the node; None for the end of the function.
    """
    inner = None if use is None else _in_comprehension(function, is_target, use)
    if inner is not None:
        return [inner]
    flow = _Flow(is_target, None if use is None else span_of(use))
    body = getattr(function, "body", [])
    end = flow.block(body, (None,)) if isinstance(body, list) else (None,)
    return list(end if flow.found is None else flow.found)


def _in_comprehension(function: ast.AST, is_target: IsTarget, use: ast.AST) -> Binding | None:
    """The loop of a comprehension that binds a variable for the node in it."""
    found = None
    for node in ast.walk(function):
        is_around = isinstance(node, ast.expr) and _holds(node, span_of(use))
        for part in getattr(node, "generators", []) if is_around else ():
            for target, _ in targets_in(part.target):
                if is_target(target) and part.iter is not use:
                    found = Binding(part, part.iter, is_part=True)
    return found


def _holds(node: ast.AST, span: tuple[Position, Position]) -> bool:
    start, end = span_of(node)
    return start <= span[0] and span[1] <= end


def _joined(*states: Reached) -> Reached:
    found = {(0, (0, 0)) if one is None else (id(one.statement), one.position): one for one in chain(*states)}
    return tuple(sorted(found.values(), key=lambda one: (0, 0) if one is None else one.position))


class _Flow:
    """One reading of a function downwards, until the statement of the use."""

    def __init__(self, is_target: IsTarget, span: tuple[Position, Position] | None) -> None:
        self._is_target, self._span = is_target, span
        self._is_ahead = False
        self.found: Reached | None = None

    def block(self, body: Sequence[ast.stmt], state: Reached) -> Reached:
        """The state after some statements."""
        for statement in body:
            if self.found is not None:
                break
            state = self._statement(statement, state)
        return state

    def _is_here(self, node: ast.AST) -> bool:
        return self._span is not None and not self._is_ahead and _holds(node, self._span)

    def _statement(self, node: ast.stmt, state: Reached) -> Reached:
        blocks = _blocks(node)
        inside = next((one for one in blocks if any(self._is_here(part) for part in one)), None)
        if inside is None and self._is_here(node):
            self.found = state
            return state
        start = self._bound(node, state)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            before, self._is_ahead = self._is_ahead, True
            start = _joined(start, self.block(node.body, start))
            self._is_ahead = before
        if inside is not None and not isinstance(node, ast.Try):
            return self.block(inside, start)
        match node:
            case ast.Return() | ast.Raise() if self._span is not None or isinstance(node, ast.Raise):
                return ()
            case ast.With() | ast.AsyncWith():
                return self.block(node.body, start)
            case ast.If():
                return _joined(self.block(node.body, start), self.block(node.orelse, start))
            case ast.Try():
                end = self.block(node.body, state)
                ends = [self.block(one.body, _joined(state, end)) for one in node.handlers]
                return self.block(node.finalbody, _joined(self.block(node.orelse, end), *ends))
        return _joined(start, *(self.block(one, start) for one in blocks))

    def _bound(self, node: ast.stmt, state: Reached) -> Reached:
        """The state after a statement that may bind the variable; an update leaves its value where it was."""
        found = [one for one in targets_of(node) if self._is_target(one[0])]
        if not found or not state or isinstance(node, ast.AugAssign):
            return state
        _, value, is_part = found[-1]
        return (Binding(node, value, is_part),)


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements in a statement; those of a definition run at another time."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    own = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    return [*own, *(one.body for one in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())))]


# --- what a statement binds ---------------------------------------------------------------------------------


def targets_of(node: ast.AST) -> Iterator[Target]:
    """The targets of one statement, without those of statements in it."""
    match node:
        case ast.Assign():
            for target in node.targets:
                yield from _pairs(target, node.value)
        case ast.AnnAssign(value=ast.expr() as value):
            yield from _pairs(node.target, value)
        case ast.AugAssign(target=target):
            yield target, node.value, False
        case ast.For() | ast.AsyncFor():
            yield from ((target, node.iter, True) for target, _ in targets_in(node.target))
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                if item.optional_vars is not None:
                    yield from _pairs(item.optional_vars, item.context_expr)
    for part in ast.iter_child_nodes(node):
        for inner in ast.walk(part) if isinstance(part, ast.expr) else ():
            if isinstance(inner, ast.NamedExpr):
                yield inner.target, inner.value, False


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[Target]:
    """The targets of an assignment, each with its own value where the source shows one."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        is_plain = not any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts))
        if len(value.elts) == len(target.elts) and is_plain:
            for one, part in zip(target.elts, value.elts, strict=True):
                yield from _pairs(one, part)
            return
    yield from ((one, value, is_part) for one, is_part in targets_in(target))


def targets_in(target: ast.expr, *, is_part: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """The single targets of an assignment, and whether each takes a part of the value."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for one in target.elts:
            yield from targets_in(one, is_part=True)
    elif isinstance(target, ast.Starred):
        yield target.value, True
    else:
        yield target, is_part


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions and classes within it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            yield from own_nodes(node)
