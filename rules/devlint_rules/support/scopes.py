"""Which names a program has at a place, so that advice speaks only of names that exist there."""

from __future__ import annotations

import ast

import libcst as cst
from devlint.diagnostics import Place
from devlint.fixes.names import Names, binds
from devlint.rule import OperationRule
from devlint.syntax import Syntax


class Surroundings:
    """The scopes of one file and the names that occur in them.

    A scope is the stretch of a function or class; code outside all of them is in the scope None.
    """

    def __init__(self, syntax: Syntax) -> None:
        """Reads a file."""
        self._syntax = syntax
        self._names = syntax.derive(Names)
        self._scope_of: dict[Place, Place | None] = {}
        self._binding: dict[str, list[Place]] = {}

    def together(self, first: Place, second: Place) -> bool:
        """Whether two places are in one scope of one file, so that both see the same local names."""
        return first.file == second.file and self._scope(first) == self._scope(second)

    def knows(self, expression: str, place: Place) -> bool:
        """Whether every name in an expression, and an attribute of `self` as a whole, surely has a value at a place."""
        whole = [expression] if expression.startswith("self.") else []
        return all(self._names.has_value(name, place) for name in (*whole, *names_in(expression)))

    def binds(self, text: str, place: Place) -> bool:
        """Whether `text` is a name that the scope of a place gives a value, so that it may do so once more."""
        return any(self.together(where, place) for where in self._bound(text))

    def is_global(self, name: str) -> bool:
        """Whether code outside of all functions and classes gives a name its value."""
        return any(self._scope(where) is None for where in self._bound(name))

    def bindings(self, name: str, place: Place | None = None) -> int:
        """How many nodes give a name its value in the scope of a place; without one, in the whole file."""
        return sum(place is None or self.together(where, place) for where in self._bound(name))

    def is_alone(self, name: str, place: Place) -> bool:
        """Whether no other name of a scope is given the same object, and no function or class in it reads the name."""
        for node in self._names.occurrences(name):
            where, parent = self._syntax.place_of(node), next(self._syntax.parents(node))
            is_shared = isinstance(parent, (cst.Assign, cst.NamedExpr)) and parent.value is node
            if self.within_scope(where, place) and (is_shared or not self.together(where, place)):
                return False
        return True

    def imports(self, name: str) -> bool:
        """Whether an import of the file binds a name."""
        nodes = [node for node in self._syntax.names(name) if binds(node, self._syntax)]
        return any(self._syntax.around(node, cst.ImportAlias) is not None for node in nodes)

    def binds_within(self, name: str, stretch: Place) -> bool:
        """Whether code in a stretch gives a name a value."""
        return any(stretch.holds(where) for where in self._bound(name))

    def within_scope(self, inner: Place, place: Place) -> bool:
        """Whether a place is in the scope of another, or in a scope inside that."""
        scope = self._scope(place)
        return inner.file == place.file and (scope is None or scope.holds(inner))

    def qualified(self, text: str, place: Place) -> str:
        """Source text with the line of its scope, so that it means one thing only; `self` is that of the class."""
        around = self._scopes(place)
        choose = min if text.startswith("self.") else max
        scope = choose(around, key=lambda place: place.start, default=None)
        return f"{text} in {0 if scope is None else scope.line}"

    def _scope(self, place: Place) -> Place | None:
        if place not in self._scope_of:
            self._scope_of[place] = max(self._scopes(place), key=lambda place: place.start, default=None)
        return self._scope_of[place]

    def _scopes(self, place: Place) -> list[Place]:
        """The stretches of the functions and classes that a place is in."""
        return [
            self._syntax.place_of(node)
            for kind in (cst.FunctionDef, cst.ClassDef)
            for node in self._syntax.enclosing(place, kind)
        ]

    def _bound(self, name: str) -> list[Place]:
        """Where the file gives a name a value, other than by an import."""
        if name not in self._binding:
            nodes = [node for node in self._syntax.names(name) if binds(node, self._syntax)]
            self._binding[name] = [
                self._syntax.place_of(node)
                for node in nodes
                if not isinstance(next(self._syntax.parents(node)), cst.ImportAlias)
            ]
        return self._binding[name]


class SurroundedRule(OperationRule):
    """Base of the rules that look at the names around an operation."""

    def surroundings(self) -> Surroundings:
        """The names of the file."""
        return self.syntax().derive(Surroundings)


def names_in(expression: str) -> set[str]:
    """The names that an expression reads; what Python itself brings along needs no other occurrence."""
    names = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    return names - {"next"}
