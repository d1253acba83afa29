"""Which names have a value at a place: every path to it has given the name one, or has read it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import libcst as cst

from devlint.diagnostics import Place
from devlint.syntax import Syntax

_Block = cst.Module | cst.BaseSuite
_Position = tuple[int, int]

_CONTEXTS = frozenset({"torch", "open"})
"""Whose context managers pass every exception on, so that code behind the block has passed all of it."""


class Names:
    """The names of one file.

    Every path passes a statement that stands before a place, in the same block or in one around it. Of a statement with
    branches, every branch must mention the name, or leave the block.
    """

    def __init__(self, syntax: Syntax) -> None:
        """Reads a file."""
        self._syntax = syntax
        self._mentions: dict[str, tuple[list[_Position], list[cst.CSTNode]]] = {}

    def has_value(self, text: str, place: Place) -> bool:
        """Whether a name, or an attribute such as `self.device`, surely has a value at a place."""
        return self._has_value(text, place, self._around(place))

    def _has_value(self, text: str, place: Place, around: Sequence[tuple[_Block, cst.CSTNode]]) -> bool:
        within_function = False
        for block, statement in reversed(around):
            of_class = isinstance(next(self._syntax.parents(block), None), cst.ClassDef)
            if not (of_class and within_function):
                for earlier in reversed(block.body[: [*block.body].index(statement)]):
                    if self._loses(earlier, text):
                        return False
                    if self._mentions_surely(earlier, text):
                        return True
            if self._is_in_header(text, statement, place):
                return True
            if isinstance(statement, cst.FunctionDef):
                if self._is_local(text, statement):
                    return False
                within_function = True
            elif isinstance(statement, (cst.For, cst.While)) and self._loses(statement, text):
                return False  # the turn before
        return False

    def occurs(self, name: str) -> bool:
        """Whether a name stands for a value anywhere in the file, or gets one."""
        return any(True for _ in self._written(name))

    def is_stored_late(self, text: str, place: Place) -> bool:
        """Whether the function around a place may store an attribute, such as `self.device`, only behind that place."""
        around = self._around(place)
        functions = [index for index, (_, one) in enumerate(around) if isinstance(one, cst.FunctionDef)]
        if not functions:
            return False
        function = around[functions[-1]][1]
        stores = [node for node in self._within(text, function) if self._syntax.is_target(node)]
        return bool(stores) and not self._has_value(text, place, around[functions[-1] + 1 :])

    def _around(self, place: Place) -> list[tuple[_Block, cst.CSTNode]]:
        """The statements around a place, with their blocks, from the outside in."""
        found: list[tuple[_Block, cst.CSTNode]] = []
        blocks: list[_Block] = [self._syntax.module]
        while blocks:
            block = blocks.pop()
            for statement in block.body:
                if _holds(self._syntax.place_of(statement), place):
                    found.append((block, statement))
                    blocks = _blocks(statement)
                    break
        return found

    def _loses(self, statement: cst.CSTNode, text: str) -> bool:
        """Whether a statement may take the value of a name away, without those inside of functions."""
        return any(
            self._is_lost(node) and self._syntax.around(node, cst.FunctionDef) is self._function(statement)
            for node in self._within(text, statement)
        )

    def _function(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        return self._syntax.around(statement, cst.FunctionDef)

    def _is_lost(self, node: cst.CSTNode) -> bool:
        """Whether `del` takes the value of a name, or the end of the handler that named an exception so."""
        inner = node
        for parent in self._syntax.parents(node):
            match parent:
                case cst.Del() | cst.ExceptHandler() | cst.ExceptStarHandler():
                    return isinstance(parent, cst.Del) or isinstance(inner, cst.AsName)
                case cst.Tuple() | cst.Element() | cst.AsName() | cst.List():
                    inner = parent
                case _:
                    return False
        return False

    def _is_local(self, text: str, function: cst.FunctionDef) -> bool:
        """Whether a function gives a name a value of its own, wherever in it."""
        return any(
            binds(node, self._syntax) and self._function(node) is function
            for node in self._within(text, function.body)
            if isinstance(node, cst.Name)
        )

    def _is_in_header(self, text: str, statement: cst.CSTNode, place: Place) -> bool:
        """Whether what a statement evaluates before a place in it mentions a name; its targets count in its blocks."""
        blocks = [self._stretch(block) for block in _blocks(statement)]
        is_in_block = any(_holds(block, place) for block in blocks)
        for node in self._within(text, statement):
            where = self._syntax.place_of(node)
            if any(_holds(block, where) for block in blocks) or (not is_in_block and self._is_given_a_value(node)):
                continue
            match statement:
                case cst.FunctionDef() if is_in_block is not _is_parameter(node, self._syntax):
                    continue
                case cst.Try() | cst.TryStar():
                    continue
                case cst.Match(subject=subject) if not _holds(self._syntax.place(subject), where):
                    continue
                case cst.If() if _start(where) > _start(place) and self._if(node) is not self._if_of(place, statement):
                    continue
            if self._is_evaluated(node, statement, place):
                return True
        return False

    def _if(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._syntax.around(node, cst.If)

    def _if_of(self, place: Place, statement: cst.If) -> cst.CSTNode | None:
        """The part of an `if … elif` whose test a place is in."""
        part: cst.If | cst.Else | None = statement
        while isinstance(part, cst.If):
            if _holds(self._syntax.place(part.test), place):
                return part
            part = part.orelse
        return None

    def _is_given_a_value(self, node: cst.CSTNode) -> bool:
        parent = next(self._syntax.parents(node))
        return self._syntax.is_target(node) and not isinstance(parent, (cst.Attribute, cst.Subscript, cst.AugAssign))

    def _mentions_surely(self, statement: cst.CSTNode, text: str) -> bool:
        nodes = self._within(text, statement)
        if not nodes:
            return False
        match statement:
            case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
                return name.value == text
            case cst.If(test=test, body=body, orelse=orelse):
                return self._evaluates(test, text) or (
                    orelse is not None and self._passes(body, text) and self._passes_branch(orelse, text)
                )
            case cst.For(iter=header) | cst.While(test=header) | cst.Match(subject=header):
                return self._evaluates(header, text)
            case cst.With(items=items, body=body):
                if any(self._evaluates(item, text) for item in items):
                    return True
                return all(_passes_exceptions(item) for item in items) and self._any(body, text)
            case (
                cst.Try(body=body, handlers=handlers, finalbody=last)
                | cst.TryStar(body=body, handlers=handlers, finalbody=last)
            ):
                tried = self._any(body, text) and all(self._passes(one.body, text) for one in handlers)
                return tried or (last is not None and self._any(last.body, text))
            case _:
                return self._evaluates(statement, text)

    def _passes_branch(self, branch: cst.If | cst.Else, text: str) -> bool:
        return self._mentions_surely(branch, text) if isinstance(branch, cst.If) else self._passes(branch.body, text)

    def _passes(self, block: cst.BaseSuite, text: str) -> bool:
        """Whether whoever comes to the end of a block has passed a mention of a name."""
        return self._any(block, text) or any(_leaves(statement) for statement in block.body)

    def _any(self, block: cst.BaseSuite, text: str) -> bool:
        return any(self._mentions_surely(statement, text) for statement in block.body)

    def _evaluates(self, node: cst.CSTNode, text: str) -> bool:
        return any(self._is_evaluated(one, node, None) for one in self._within(text, node))

    def _is_evaluated(self, node: cst.CSTNode, whole: cst.CSTNode, place: Place | None) -> bool:
        """Whether whoever executes `whole`, or comes to a place in it, also comes to a node in it."""
        inner = node
        for parent in self._syntax.parents(node):
            if inner is whole:
                return True
            match parent:
                case cst.IfExp(test=first) | cst.BooleanOperation(left=first) if inner is first:
                    pass
                case cst.IfExp() | cst.BooleanOperation():
                    if place is None or not _holds(self._syntax.place_of(inner), place):
                        return False
                case cst.Comparison(comparisons=[_, *later]) if inner in later:
                    return False
                case cst.Lambda() | cst.BaseComp() if place is None or not _holds(self._syntax.place_of(parent), place):
                    return False
                case cst.Del() | cst.Global() | cst.Nonlocal() | cst.Annotation():
                    return False
                case cst.AnnAssign(target=target, value=None) if inner is target:
                    return False
            inner = parent
        return inner is whole

    def _within(self, text: str, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The nodes in a node, or the node itself, that are written as a name or attribute and stand for its value."""
        if text not in self._mentions:
            nodes = sorted(self._written(text), key=lambda one: _start(self._syntax.place_of(one)))
            self._mentions[text] = ([_start(self._syntax.place_of(one)) for one in nodes], nodes)
        starts, nodes = self._mentions[text]
        stretch = self._syntax.place_of(node)
        return nodes[bisect_left(starts, _start(stretch)) : bisect_left(starts, _end(stretch))]

    def _stretch(self, block: _Block) -> Place:
        first, last = self._syntax.place_of(block.body[0]), self._syntax.place_of(block.body[-1])
        return Place(first.file, first.line, first.column, last.end_line, last.end_column)

    def _written(self, text: str) -> Iterable[cst.CSTNode]:
        if text.isidentifier():
            for name in self._syntax.names(text):
                match next(self._syntax.parents(name)):
                    case cst.Attribute(value=value) | cst.Arg(value=value) if value is not name:
                        pass
                    case _ if self._is_only_imported_from(name):
                        pass
                    case _:
                        yield name
        else:
            for attribute in self._syntax.within(self._syntax.module, cst.Attribute):
                if attribute.attr.value == text.rpartition(".")[2] and self._syntax.code(attribute) == text:
                    yield attribute

    def _is_only_imported_from(self, name: cst.Name) -> bool:
        parents = self._syntax.parents(name)
        return any(isinstance(one, (cst.Import, cst.ImportFrom)) for one in parents) and not binds(name, self._syntax)


def binds(name: cst.Name, syntax: Syntax) -> bool:
    """Whether a node gives a name a value in the function or class around it, or in the file."""
    inner: cst.CSTNode = name
    is_whole = True
    for parent in syntax.parents(name):
        match parent:
            case (
                cst.FunctionDef(name=own)
                | cst.ClassDef(name=own)
                | cst.NamedExpr(target=own)
                | cst.MatchAs(name=own)
                | cst.MatchStar(name=own)
            ):
                return own is name
            case cst.ImportAlias(asname=asname):
                return asname is None or asname is inner
            case cst.ExceptHandler() | cst.ExceptStarHandler() | cst.WithItem():
                return isinstance(inner, cst.AsName)
            case cst.AssignTarget():
                return is_whole
            case cst.AnnAssign(target=target) | cst.AugAssign(target=target) | cst.For(target=target):
                return is_whole and target is inner
            case cst.BaseStatement() | cst.BaseSmallStatement() | cst.Call() | cst.CompFor() | cst.Param():
                return False
            case cst.Attribute() | cst.Subscript():
                is_whole = False
        inner = parent
    return False


def _passes_exceptions(item: cst.WithItem) -> bool:
    """Whether a context manager is one of torch or a file, which end no exception."""
    node: cst.CSTNode = item.item
    while isinstance(node, (cst.Call, cst.Attribute)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return isinstance(node, cst.Name) and node.value in _CONTEXTS


def _blocks(statement: cst.CSTNode) -> list[_Block]:
    """The blocks of a compound statement."""
    match statement:
        case cst.If(body=body, orelse=orelse):
            return [body, *([] if orelse is None else _blocks(orelse))]
        case cst.For(body=body, orelse=last) | cst.While(body=body, orelse=last):
            return [body, *([] if last is None else [last.body])]
        case cst.Try() | cst.TryStar():
            handled = [handler.body for handler in statement.handlers]
            rest = [one.body for one in (statement.orelse, statement.finalbody) if one is not None]
            return [statement.body, *handled, *rest]
        case cst.Match(cases=cases):
            return [case.body for case in cases]
        case cst.With(body=body) | cst.FunctionDef(body=body) | cst.ClassDef(body=body) | cst.Else(body=body):
            return [body]
        case _:
            return []


def _leaves(statement: cst.CSTNode) -> bool:
    """Whether nothing behind a statement in its block is executed after it."""
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
    return any(isinstance(part, (cst.Return, cst.Raise, cst.Continue, cst.Break)) for part in parts)


def _is_parameter(node: cst.CSTNode, syntax: Syntax) -> bool:
    parent = next(syntax.parents(node))
    return isinstance(parent, cst.Param) and parent.name is node


def _holds(stretch: Place, place: Place) -> bool:
    return stretch.file == place.file and _start(stretch) <= _start(place) and _end(place) <= _end(stretch)


def _start(place: Place) -> _Position:
    return (place.line, place.column)


def _end(place: Place) -> _Position:
    return (place.end_line, place.end_column)
