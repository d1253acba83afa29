"""Which names have a value at a place: every path to it has given the name one, or has read it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

import libcst as cst

from devlint.diagnostics import Place
from devlint.syntax import Syntax

_Block = Sequence[cst.CSTNode]
"""The statements of a block; an `elif` is one by itself."""

_IMPORTS = (cst.Import, cst.ImportFrom)
_DISPLAYS = (cst.Tuple, cst.List, cst.Element)

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
        self._mentions: dict[str, tuple[list[tuple[int, int]], list[cst.CSTNode]]] = {}

    def has_value(self, text: str, place: Place) -> bool:
        """Whether a name surely has a value at a place.

        An attribute such as `self.device` has one too, but not above the line of the same function that stores it.
        """
        within_function = False
        for block, statement in reversed(self._around(place)):
            of_class = isinstance(next(islice(self._syntax.parents(statement), 1, None), None), cst.ClassDef)
            if not (of_class and within_function):
                for earlier in reversed(block[: block.index(statement)]):
                    if self._loses(earlier, text):
                        return False
                    if self._mentions_surely(earlier, text):
                        return True
            if self._is_in_header(text, statement, place):
                return True
            if isinstance(statement, cst.FunctionDef):
                if self._is_local(text, statement):
                    return False
                if not text.isidentifier():
                    return True
                within_function = True
            elif isinstance(statement, (cst.For, cst.While)) and self._loses(statement, text):
                return False  # the turn before
        return not text.isidentifier()

    def _around(self, place: Place) -> list[tuple[_Block, cst.CSTNode]]:
        """The statements around a place, with their blocks, from the outside in."""
        found: list[tuple[_Block, cst.CSTNode]] = []
        blocks: list[_Block] = [self._syntax.module.body]
        while blocks:
            block = blocks.pop()
            for statement in block:
                if self._syntax.place_of(statement).holds(place):
                    found.append((block, statement))
                    blocks = _blocks(statement)
                    break
        return found

    def _loses(self, statement: cst.CSTNode, text: str) -> bool:
        """Whether a statement may take the value of a name away, without those inside of functions."""
        return any(
            self._is_lost(node) and self._function(node) is self._function(statement)
            for node in self._within(text, statement)
        )

    def _function(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        return self._syntax.around(statement, cst.FunctionDef)

    def _is_lost(self, node: cst.CSTNode) -> bool:
        """Whether `del` takes the value of a name, or the end of the handler that named an exception so."""
        first, *others = self._syntax.parents(node)
        outer = next(one for one in (first, *others) if not isinstance(one, (*_DISPLAYS, cst.AsName)))
        is_handler = isinstance(outer, (cst.ExceptHandler, cst.ExceptStarHandler))
        return isinstance(outer, cst.Del) or (is_handler and isinstance(first, cst.AsName))

    def _is_local(self, text: str, function: cst.FunctionDef) -> bool:
        """Whether a function gives a name a value of its own, or stores an attribute, wherever in it."""
        return any(
            self._function(node) is function and binds(node, self._syntax) and not _is_parameter(node, self._syntax)
            if isinstance(node, cst.Name)
            else self._syntax.is_target(node)
            for node in self._within(text, function.body)
        )

    def _is_in_header(self, text: str, statement: cst.CSTNode, place: Place) -> bool:
        """Whether what a statement evaluates before a place in it mentions a name; its targets count in its blocks."""
        blocks = [self._syntax.from_to(block[0], block[-1]) for block in _blocks(statement)]
        is_in_block = any(block.holds(place) for block in blocks)
        for node in self._within(text, statement):
            where = self._syntax.place_of(node)
            if any(block.holds(where) for block in blocks) or (not is_in_block and self._is_given_a_value(node)):
                continue
            if isinstance(statement, cst.FunctionDef) and is_in_block is not _is_parameter(node, self._syntax):
                continue
            if self._is_evaluated(node, statement, place):
                return True
        return False

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
            case cst.If(test=test, orelse=orelse):
                blocks = [] if orelse is None else _blocks(statement)
                return self._evaluates(test, text) or (bool(blocks) and all(self._passes(one, text) for one in blocks))
            case cst.For(iter=header) | cst.While(test=header) | cst.Match(subject=header):
                return self._evaluates(header, text)
            case cst.With(items=items, body=body):
                if any(self._evaluates(item, text) for item in items):
                    return True
                return all(_passes_exceptions(item) for item in items) and self._any(body.body, text)
            case (
                cst.Try(body=body, handlers=handlers, finalbody=last)
                | cst.TryStar(body=body, handlers=handlers, finalbody=last)
            ):
                tried = self._any(body.body, text) and all(self._passes(one.body.body, text) for one in handlers)
                return tried or (last is not None and self._any(last.body.body, text))
            case _:
                return self._evaluates(statement, text)

    def _passes(self, block: _Block, text: str) -> bool:
        """Whether whoever comes to the end of a block has passed a mention of a name."""
        return self._any(block, text) or any(_leaves(statement) for statement in block)

    def _any(self, block: _Block, text: str) -> bool:
        return any(self._mentions_surely(statement, text) for statement in block)

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
                    if place is None or not self._syntax.place_of(inner).holds(place):
                        return False
                case cst.Comparison(comparisons=[_, *later]) if inner in later:
                    return False
                case cst.Lambda() | cst.BaseComp() if place is None or not self._syntax.place_of(parent).holds(place):
                    return False
                case cst.Del() | cst.Global() | cst.Nonlocal() | cst.Annotation():
                    return False
                case cst.ExceptHandler() | cst.ExceptStarHandler() | cst.MatchCase():
                    return False
                case cst.AnnAssign(target=target, value=None) if inner is target:
                    return False
            inner = parent
        return inner is whole

    def _within(self, text: str, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The nodes in a node, or the node itself, that are written as a name or attribute and stand for its value."""
        if text not in self._mentions:
            nodes = sorted(self.occurrences(text), key=lambda one: self._syntax.place_of(one).start)
            self._mentions[text] = ([self._syntax.place_of(one).start for one in nodes], nodes)
        starts, nodes = self._mentions[text]
        stretch = self._syntax.place_of(node)
        return nodes[bisect_left(starts, stretch.start) : bisect_left(starts, stretch.end)]

    def occurrences(self, text: str) -> Iterator[cst.CSTNode]:
        """The nodes that are written as a name or attribute and stand for its value, or give it one."""
        if text.isidentifier():
            for name in self._syntax.names(text):
                is_imported = any(isinstance(one, _IMPORTS) for one in self._syntax.parents(name))
                if stands_for_a_value(name, self._syntax) and (not is_imported or binds(name, self._syntax)):
                    yield name
        else:
            for attribute in self._syntax.within(self._syntax.module, cst.Attribute):
                if attribute.attr.value == text.rpartition(".")[2] and self._syntax.code(attribute) == text:
                    yield attribute


def stands_for_a_value(name: cst.Name, syntax: Syntax) -> bool:
    """Whether a name does, and not for an attribute or the keyword of an argument."""
    parent = next(syntax.parents(name))
    return not isinstance(parent, (cst.Attribute, cst.Arg)) or parent.value is name


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
                | cst.Param(name=own)
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
            case cst.BaseStatement() | cst.BaseSmallStatement() | cst.Call() | cst.CompFor():
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
        case cst.If(body=body, orelse=cst.If() as other):
            return [body.body, [other]]
        case cst.If(body=body, orelse=last) | cst.For(body=body, orelse=last) | cst.While(body=body, orelse=last):
            suites = [body] if last is None else [body, last.body]
        case cst.Try() | cst.TryStar():
            others = (*statement.handlers, statement.orelse, statement.finalbody)
            suites = [statement.body, *(one.body for one in others if one is not None)]
        case cst.Match(cases=cases):
            suites = [case.body for case in cases]
        case cst.With(body=body) | cst.FunctionDef(body=body) | cst.ClassDef(body=body):
            suites = [body]
        case _:
            return []
    return [suite.body for suite in suites]


def _leaves(statement: cst.CSTNode) -> bool:
    """Whether nothing behind a statement in its block is executed after it."""
    parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
    return any(isinstance(part, (cst.Return, cst.Raise, cst.Continue, cst.Break)) for part in parts)


def _is_parameter(node: cst.CSTNode, syntax: Syntax) -> bool:
    parent = next(syntax.parents(node))
    return isinstance(parent, cst.Param) and parent.name is node
