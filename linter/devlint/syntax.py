"""The syntax of one file as a fix needs it: which node stands where, and the edits that change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar, cast

import libcst as cst

from devlint.diagnostics import Edit, Place
from devlint.frontend.pieces import Tree
from devlint.sources.program import Cell

PlaceOf: TypeAlias = Callable[[cst.CSTNode], Place]
T = TypeVar("T")
NodeT = TypeVar("NodeT", bound=cst.CSTNode)


class Syntax:
    """Nodes by their places, and their parents.

    Args:
        tree: the nodes of the file.
        place_of: where a node stands; brackets around an expression are no part of it.
        cells: of a notebook.

    Attributes:
        module: the whole file.
        text: its source text.
    """

    def __init__(self, tree: Tree, place_of: PlaceOf, cells: tuple[Cell, ...] = ()) -> None:
        self.cells = cells
        self.module = tree.module
        self.text = tree.text
        self.place_of = place_of
        self._tree = tree
        self._derived: dict[object, object] = {}
        self._values: dict[int, dict[Place, list[cst.CSTNode]]] = {}

    def _by_place(self, number: int) -> dict[Place, list[cst.CSTNode]]:
        """Expressions and simple statements of a piece by their stretches, with their brackets and without.

        Outer ones come first.
        """
        if number not in self._values:
            found = self._values[number] = {}
            for node in self._tree.pieces[number].parents:
                if isinstance(node, (cst.BaseExpression, cst.BaseSmallStatement)):
                    for place in {self.place_of(node), self.place(node)}:
                        found.setdefault(place, []).append(node)
        return self._values[number]

    def value_at(self, place: Place) -> cst.BaseExpression | None:
        """The expression that fills a stretch, with its brackets or without, if there is one."""
        return next((node for node in self._at(place) if isinstance(node, cst.BaseExpression)), None)

    def at(self, place: Place, kind: type[NodeT]) -> NodeT | None:
        """The expression or simple statement of that kind which fills a stretch, if there is one."""
        return next((node for node in self._at(place) if isinstance(node, kind)), None)

    def _at(self, place: Place) -> Sequence[cst.CSTNode]:
        return self._by_place(self._tree.number_at(place.line)).get(place, ())

    def class_at(self, place: Place) -> cst.ClassDef | None:
        """The innermost class that a place is in."""
        around = self.enclosing(place, cst.ClassDef)
        return max(around, key=lambda node: self.place_of(node).line, default=None)

    def enclosing(self, place: Place, kind: type[NodeT]) -> list[NodeT]:
        """The nodes of exactly that class that a place is in, in no particular order."""
        return [
            node
            for node in self._tree.of_kind(self._tree.number_at(place.line), kind)
            if self.place_of(node).holds(place)
        ]

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What a node is in, from the inside out."""
        return self._tree.parents(node)

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        return self.module.code_for_node(node)

    def place(self, node: cst.CSTNode) -> Place:
        """The stretch of a node with the brackets around it."""
        place = self.place_of(node)
        if isinstance(node, cst.BaseExpression) and node.lpar:
            first, last = self.place_of(node.lpar[0]), self.place_of(node.rpar[-1])
            return Place(place.file, *first.start, *last.end)
        return place

    def is_target(self, node: cst.CSTNode) -> bool:
        """Whether a value is stored in a node, or in an element or attribute of it."""
        inner = node
        for parent in self.parents(node):
            match parent:
                case cst.AssignTarget() | cst.Del():
                    return True
                case cst.AnnAssign(target=target) | cst.AugAssign(target=target) | cst.For(target=target):
                    return target is inner
                case cst.Subscript(value=value) | cst.Attribute(value=value) if value is not inner:
                    return False
                case cst.BaseStatement() | cst.Call():
                    return False
            inner = parent
        return False

    def from_to(self, first: cst.CSTNode, last: cst.CSTNode) -> Place:
        """The stretch from where one node begins to where another ends, without the brackets around the other."""
        start, end = self.place(first), self.place_of(last)
        return Place(start.file, *start.start, *end.end)

    def before(self, node: cst.CSTNode, text: str) -> Edit:
        """Puts text directly before a node and its brackets."""
        place = self.place(node)
        return Edit(Place(place.file, *place.start, *place.start), text)

    def behind(self, node: cst.CSTNode, text: str) -> Edit:
        """Puts text directly behind a node and its brackets."""
        place = self.place(node)
        return Edit(Place(place.file, *place.end, *place.end), text)

    def attribute(self, value: cst.BaseExpression, text: str) -> tuple[Edit, ...]:
        """Puts `.to(device)` or the like behind a value, in brackets where these are needed."""
        primary = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or value.lpar
        if primary:
            return (self.behind(value, text),)
        return (self.before(value, "("), self.behind(value, f"){text}"))

    def keyword(self, call: cst.Call, name: str, value: str) -> Edit | None:
        """Gives a call a keyword argument, or the one that it has another value.

        None where the call may get the argument twice, from `**`, or takes no further one, as `f(x for x in y)`.
        """
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == name:
                return Edit(self.place(argument.value), value)
        if any(argument.star == "**" for argument in call.args):
            return None
        if not call.args:
            end = self.place_of(call)
            return Edit(
                Place(end.file, end.end_line, end.end_column - 1, end.end_line, end.end_column - 1), f"{name}={value}"
            )
        last = call.args[-1]
        if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
            return None
        return Edit(self.behind(last, "").place, f", {name}={value}")

    def within(self, node: cst.CSTNode, kind: type[NodeT]) -> Iterator[NodeT]:
        """The nodes of exactly that class in a node, itself included, in no particular order."""
        return self._tree.within(node, kind)

    def names(self, name: str) -> list[cst.Name]:
        """The nodes of the file with that name, in no particular order."""
        return self.derive(_names).get(name, [])

    def stores(self, target: str) -> list[cst.Assign]:
        """The assignments to a target, given by its source text: `x`, `self.x`; in no particular order."""
        return self.derive(_stores).get(target, [])

    def derive(self, build: Callable[[Syntax], T]) -> T:
        """What a function makes of this syntax; made once for all rules that ask."""
        if build not in self._derived:
            self._derived[build] = build(self)
        return cast("T", self._derived[build])

    def around(self, node: cst.CSTNode, kind: type[NodeT]) -> NodeT | None:
        """The innermost node of a kind that a node is in."""
        return next((parent for parent in self.parents(node) if isinstance(parent, kind)), None)

    def indentation(self, node: cst.CSTNode) -> str:
        """The white space that the statement of a node begins with."""
        blocks = [parent for parent in self.parents(node) if isinstance(parent, cst.IndentedBlock)]
        default = self.module.default_indent
        return "".join(default if block.indent is None else block.indent for block in reversed(blocks))


def _names(syntax: Syntax) -> dict[str, list[cst.Name]]:
    found: dict[str, list[cst.Name]] = {}
    for name in syntax.within(syntax.module, cst.Name):
        found.setdefault(name.value, []).append(name)
    return found


def _stores(syntax: Syntax) -> dict[str, list[cst.Assign]]:
    found: dict[str, list[cst.Assign]] = {}
    for store in syntax.within(syntax.module, cst.Assign):
        for text in dict.fromkeys(syntax.code(target.target) for target in store.targets):
            found.setdefault(text, []).append(store)
    return found
