"""Which names a program has at a place, so that advice speaks only of names that exist there."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import libcst as cst
from devlint.diagnostics import Place
from devlint.fixes.names import Names
from devlint.rule import OperationRule
from devlint.syntax import Syntax

Position = tuple[int, int]
"""Line and column."""


class Surroundings:
    """The scopes of one file and the names that occur in them.

    A scope is the stretch of a function or class; code outside all of them is in the scope None.
    """

    def __init__(self, syntax: Syntax) -> None:
        """Reads a file."""
        self._syntax = syntax
        self._names = syntax.derive(Names)
        self._scope_of: dict[Place, Place | None] = {}
        self._global: dict[str, bool] = {}
        self._binding: defaultdict[str, list[cst.Name]] = defaultdict(list)
        for kind in _BINDING:
            for node in syntax.within(syntax.module, kind):
                for name in _bound_by(node):
                    self._binding[name.value].append(name)
        self._imported = {_bound_by_import(alias) for alias in syntax.within(syntax.module, cst.ImportAlias)}

    def together(self, first: Place, second: Place) -> bool:
        """Whether two places are in one scope of one file, so that both see the same local names."""
        return first.file == second.file and self._scope(first) == self._scope(second)

    def knows(self, expression: str, place: Place) -> bool:
        """Whether every name in an expression surely has a value at a place, and can be seen from it.

        So does `self.device`, unless the function around the place stores it behind that place.
        """
        if expression.startswith("self.") and self._names.is_stored_late(expression, place):
            return False
        return all(self._names.has_value(name, place) for name in names_in(expression))

    def binds(self, text: str, place: Place) -> bool:
        """Whether `text` is a name that the scope of a place gives a value, so that it may do so once more."""
        return any(self.together(where, place) for where in self._bound(text))

    def is_global(self, name: str) -> bool:
        """Whether code outside of all functions and classes gives a name its value."""
        if name not in self._global:
            self._global[name] = any(self._scope(where) is None for where in self._bound(name))
        return self._global[name]

    def binds_at_most_once(self, name: str, place: Place) -> bool:
        """Whether no more than one line in the scope of a place gives a name its value."""
        return self.bindings(name, place) <= 1

    def bindings(self, name: str, place: Place | None) -> int:
        """How many nodes give a name its value in the scope of a place; without one, in the whole file."""
        return sum(place is None or self.together(where, place) for where in self._bound(name))

    def is_alone(self, name: str, place: Place) -> bool:
        """Whether no other name of a scope is given the same object, and no function or class in it reads the name."""
        names = [node for node in self._syntax.names(name) if self.within_scope(self._syntax.place_of(node), place)]
        return not any(
            isinstance(parent, (cst.Assign, cst.NamedExpr)) and parent.value is node
            for node in names
            for parent in [next(self._syntax.parents(node))]
        ) and all(self.together(where, place) for where in self._occurrences(name) if self.within_scope(where, place))

    def imports(self, name: str) -> bool:
        """Whether an import of the file binds a name."""
        return name in self._imported

    def binds_once(self, name: str) -> bool:
        """Whether one place in the whole file gives a name a value."""
        return self.bindings(name, None) == 1

    def binds_within(self, name: str, stretch: Place) -> bool:
        """Whether code in a stretch gives a name a value."""
        return any(inside(where, stretch) for where in self._bound(name))

    def within_scope(self, inner: Place, place: Place) -> bool:
        """Whether a place is in the scope of another, or in a scope inside that."""
        scope = self._scope(place)
        return inner.file == place.file and (scope is None or inside(inner, scope))

    def qualified(self, text: str, place: Place) -> str:
        """Source text with the line of its scope, so that it means one thing only; `self` is that of the class."""
        around = self._scopes(place)
        choose = min if text.startswith("self.") else max
        scope = choose(around, key=_start, default=None)
        return f"{text} in {0 if scope is None else scope.line}"

    def _scope(self, place: Place) -> Place | None:
        if place not in self._scope_of:
            self._scope_of[place] = max(self._scopes(place), key=_start, default=None)
        return self._scope_of[place]

    def _scopes(self, place: Place) -> list[Place]:
        """The stretches of the functions and classes that a place is in."""
        return [
            self._syntax.place_of(node)
            for kind in (cst.FunctionDef, cst.ClassDef)
            for node in self._syntax.enclosing(place, kind)
        ]

    def _bound(self, name: str) -> Iterator[Place]:
        """Where the file gives a name a value."""
        return map(self._syntax.place_of, self._binding.get(name, ()))

    def _occurrences(self, name: str) -> Iterator[Place]:
        """Where a name stands for a value, or gets one."""
        for node in self._syntax.names(name):
            if stands_for_a_value(node, next(self._syntax.parents(node))):
                yield self._syntax.place_of(node)


class SurroundedRule(OperationRule):
    """Base of the rules that look at the names around an operation."""

    def surroundings(self) -> Surroundings:
        """The names of the file."""
        return self.syntax().derive(Surroundings)


def inside(inner: Place, outer: Place) -> bool:
    """Whether one stretch lies in another; a stretch lies in itself."""
    return inner.file == outer.file and _start(outer) <= _start(inner) and _end(inner) <= _end(outer)


def _start(place: Place) -> Position:
    return (place.line, place.column)


def _end(place: Place) -> Position:
    return (place.end_line, place.end_column)


def names_in(expression: str) -> set[str]:
    """The names that an expression reads; what Python itself brings along needs no other occurrence."""
    names = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    return names - {"next"}


def stands_for_a_value(name: cst.Name, parent: cst.CSTNode) -> bool:
    """Whether a name does, and not for an attribute or the keyword of an argument."""
    return not isinstance(parent, (cst.Attribute, cst.Arg)) or parent.value is name


_BINDING: tuple[type[cst.CSTNode], ...] = (
    cst.Assign,
    cst.AnnAssign,
    cst.AugAssign,
    cst.For,
    cst.CompFor,
    cst.NamedExpr,
    cst.Param,
    cst.AsName,
)
"""The nodes that give names a value."""


def _bound_by(node: cst.CSTNode) -> list[cst.Name]:
    """The names to which a node gives a value."""
    match node:
        case cst.Assign(targets=targets):
            pending: list[cst.BaseExpression] = [target.target for target in targets]
        case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            pending = [target]
        case cst.For(target=target) | cst.CompFor(target=target) | cst.NamedExpr(target=target):
            pending = [target]
        case cst.Param(name=name) | cst.AsName(name=name):
            pending = [name]
        case _:
            return []
    names = []
    while pending:
        match pending.pop():
            case cst.Name() as name:
                names.append(name)
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                pending += [element.value for element in elements]
            case _:
                pass
    return names


def _bound_by_import(alias: cst.ImportAlias) -> str:
    name: cst.CSTNode = alias.name if alias.asname is None else alias.asname.name
    while isinstance(name, cst.Attribute):
        name = name.value
    return name.value if isinstance(name, cst.Name) else ""
