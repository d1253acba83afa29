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

from devlint_guard.program.frames import Position, span_of


@dataclass(frozen=True, slots=True)
class Binding:
    """An assignment, a loop, or another statement that gives a variable a value.

    Attributes:
        value: the expression.
        is_part: the variable is an element of it: of what a loop goes through, or of an unpacked value.
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
Truth = Callable[[ast.If], bool | None]
Target = tuple[ast.expr, ast.expr, bool]
"""A target, the assigned expression, and whether the target takes a part of it."""


def definition_of(tree: ast.Module, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that a code object was compiled from; its decorators come before it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def is_name(name: str) -> IsTarget:
    """Whether a target is a variable of this name."""
    return lambda target: isinstance(target, ast.Name) and target.id == name


def is_attribute(owner: str, name: str) -> IsTarget:
    """Whether a target is an attribute of a variable: `self.table`."""

    def matches(target: ast.expr) -> bool:
        match target:
            case ast.Attribute(value=ast.Name(id=of), attr=attr):
                return of == owner and attr == name
        return False

    return matches


def is_none(node: ast.expr) -> bool:
    """Whether an expression is the constant None, as of a variable that gets its value later."""
    return isinstance(node, ast.Constant) and node.value is None


def reaching(function: ast.AST, is_target: IsTarget, use: ast.AST | None, truth: Truth) -> list[Binding | None]:
    """The bindings that may be the last one when a node is reached, in the order of the source.

    Args:
        function: a definition, or the tree of a file.
        is_target: whether a node is the variable.
        use: the node; None for the end of the function.
        truth: which branch of a statement was taken, if that is known.
    """
    inner = None if use is None else _in_comprehension(function, is_target, use)
    if inner is not None:
        return [inner]
    flow = _Flow(is_target, None if use is None else span_of(use), truth)
    body = getattr(function, "body", [])
    end = flow.block(body, (None,)) if isinstance(body, list) else (None,)
    found = flow.found if flow.found is not None else _joined(end, *flow.returns)
    return list(found)


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

    def __init__(self, is_target: IsTarget, span: tuple[Position, Position] | None, truth: Truth) -> None:
        self._is_target, self._span, self._truth = is_target, span, truth
        self._breaks: list[list[Reached]] = []
        self._continues: list[list[Reached]] = []
        self._is_ahead = 0
        self.returns: list[Reached] = []
        self.found: Reached | None = None

    def block(self, body: Sequence[ast.stmt], state: Reached) -> Reached:
        for statement in body:
            if self.found is not None:
                break
            state = self._statement(statement, state)
        return state

    def _is_here(self, node: ast.AST) -> bool:
        return self._span is not None and not self._is_ahead and _holds(node, self._span)

    def _find(self, state: Reached) -> Reached:
        self.found = state
        return state

    def _statement(self, node: ast.stmt, state: Reached) -> Reached:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self._find(state) if self._is_here(node) else state
            case ast.If():
                return self._if(node, state)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, state)
            case ast.With() | ast.AsyncWith():
                if any(self._is_here(item.context_expr) for item in node.items):
                    return self._find(state)
                return self.block(node.body, self._with(node, state))
            case ast.Try():
                return self._try(node, state)
            case ast.Match():
                if self._is_here(node.subject):
                    return self._find(state)
                return _joined(state, *(self.block(case.body, state) for case in node.cases))
        if self._is_here(node):
            return self._find(state)
        match node:
            case ast.Return():
                self.returns.append(state)
                return ()
            case ast.Raise():
                return ()
            case ast.Break() | ast.Continue():
                kept = self._breaks if isinstance(node, ast.Break) else self._continues
                if kept:
                    kept[-1].append(state)
                return ()
        return self._with(node, state)

    def _with(self, node: ast.stmt, state: Reached) -> Reached:
        """The state after a statement that may bind the variable; an update leaves its value where it was."""
        found = [one for one in targets_of(node) if self._is_target(one[0])]
        if not found or not state or isinstance(node, ast.AugAssign):
            return state
        _, value, is_part = found[-1]
        return (Binding(node, value, is_part),)

    def _if(self, node: ast.If, state: Reached) -> Reached:
        if self._is_here(node.test):
            return self._find(state)
        state = self._with(node, state)
        known = self._truth(node)
        if self._is_here(node):  # whatever the test says by now, the use was reached
            arm = node.body if any(self._is_here(one) for one in node.body) else node.orelse
            return self.block(arm, state)
        arms = [arm for answer, arm in ((True, node.body), (False, node.orelse)) if known in (None, answer)]
        return _joined(*(self.block(arm, state) for arm in arms))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, state: Reached) -> Reached:
        head = node.test if isinstance(node, ast.While) else node.iter
        if self._is_here(head) and not isinstance(node, ast.While):
            return self._find(state)
        self._breaks.append([])
        self._continues.append([])
        start = state
        self._is_ahead += 1
        for _ in range(2):
            end = self.block(node.body, self._with(node, start))
            start = _joined(start, end, *self._continues[-1])
        self._is_ahead -= 1
        if self._is_here(head):
            self._find(start)
        elif any(self._is_here(one) for one in node.body):
            self.block(node.body, self._with(node, start))
        breaks = self._breaks.pop()
        self._continues.pop()
        if self.found is not None:
            return start
        is_endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        after = () if is_endless else self.block(node.orelse, start)
        return _joined(after, *breaks)

    def _try(self, node: ast.Try, state: Reached) -> Reached:
        end = self.block(node.body, state)
        if self.found is not None:
            return end
        raised = _joined(state, end)
        ends = [self.block(handler.body, raised) for handler in node.handlers]
        ends.append(self.block(node.orelse, end))
        return self.block(node.finalbody, _joined(*ends))


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


def bindings(function: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """All assignments in a function: statement, target, value."""
    for node in own_nodes(function):
        if isinstance(node, ast.stmt):
            yield from ((node, target, value) for target, value, _ in targets_of(node))
