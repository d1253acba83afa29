"""A generated program as a tree of statements, so that it can be rendered, repaired and shrunk."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

HEADER = (
    "import collections, dataclasses, functools, sys, typing; import numpy as np; import torch; from torch import nn; "
    "import torch.nn.functional as F; from torch.utils.data import DataLoader, TensorDataset"
)
"""The first line of every program."""


Change: TypeAlias = Callable[[str], Iterator[str]]
"""Gives the texts that a statement's text may be replaced by."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, with the statements inside it.

    Attributes:
        text: the line, without indentation; after decorators, several.
        body: what is indented below it.
        instead: what may stand here if this raises, so that names used later exist.
    """

    text: str
    body: tuple[Statement, ...] = ()
    instead: str = "pass"


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class.

    Attributes:
        statement: the definition.
        driver: a call of it with everything that is passed in on an accelerator.
    """

    statement: Statement
    driver: str


@dataclass(frozen=True, slots=True)
class Program:
    """Definitions and the statements that use them.

    Attributes:
        devices: how many CUDA devices the machine has that it is made for.
        inside: whether the statements stand in a function `main`.
    """

    name: str
    devices: int
    definitions: tuple[Definition, ...]
    main: tuple[Statement, ...]
    inside: bool = False

    @property
    def text(self) -> str:
        """The program's source."""
        if not self.inside:
            return self._rendered(self.main)
        return self._rendered((Statement("def main():", self.main or (Statement("pass"),)), Statement("main()")))

    @property
    def main_line(self) -> int:
        """The line on which `main` begins."""
        return 2 + self.inside + sum(size(definition.statement) for definition in self.definitions)

    def driven(self, definition: Definition) -> str:
        """The definitions, on the same lines as in `text`, and the driver of one of them."""
        return self._rendered((Statement(definition.driver),))

    def _rendered(self, main: tuple[Statement, ...]) -> str:
        statements = (*(definition.statement for definition in self.definitions), *main)
        return "\n".join([HEADER, *rendered(statements)]) + "\n"

    def repaired(self, stack: Sequence[int]) -> Program | None:
        """The program with the statement of `main` that a refusal went through replaced by what may stand there."""
        number = self.main_line
        for position, statement in enumerate(self.main):
            if any(number <= line < number + size(statement) for line in stack):
                changed = Statement(statement.instead)
                if changed == statement:
                    return None
                return replace(self, main=(*self.main[:position], changed, *self.main[position + 1 :]))
            number += size(statement)
        return None

    def smaller(self) -> Iterator[Program]:
        """The programs with less: first without a stretch of statements, then without a single one."""
        for length in (len(self.main) // 2, len(self.main) // 4):
            for start in range(0, len(self.main), length) if length > 1 else ():
                shorter = (*self.main[:start], *self.main[start + length :])
                if not any(statement.text.startswith("else") for statement in shorter[start : start + 1]):
                    yield replace(self, main=shorter)
        if self.inside:
            yield replace(self, inside=False)
        for position in range(len(self.definitions)):
            yield replace(self, definitions=self.definitions[:position] + self.definitions[position + 1 :])
        for shorter in _without_one(self.main):
            yield replace(self, main=shorter)
        for position, definition in enumerate(self.definitions):
            for shorter in _without_one((definition.statement,)):
                if shorter and shorter[0].text == definition.statement.text:
                    yield self._redefined(position, shorter[0])
        yield from self.rewritten(_shorter_texts)

    def rewritten(self, change: Change) -> Iterator[Program]:
        """The programs with one statement, on any level, replaced by one of those that `change` makes of it."""
        for main in _rewritten(self.main, change):
            yield replace(self, main=main)
        for position, definition in enumerate(self.definitions):
            for (statement,) in _rewritten((definition.statement,), change):
                yield self._redefined(position, statement)

    def _redefined(self, position: int, statement: Statement) -> Program:
        changed = replace(self.definitions[position], statement=statement)
        return replace(self, definitions=(*self.definitions[:position], changed, *self.definitions[position + 1 :]))


def rendered(statements: tuple[Statement, ...], depth: int = 0) -> Iterator[str]:
    """The lines of statements."""
    for statement in statements:
        yield from ("    " * depth + line for line in statement.text.splitlines())
        yield from rendered(statement.body, depth + 1)


def size(statement: Statement) -> int:
    """How many lines a statement has."""
    return len(statement.text.splitlines()) + sum(size(inner) for inner in statement.body)


def _without_one(statements: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """The statements with one less, on any level, and with a compound one replaced by its body."""
    for position, statement in enumerate(statements):
        before, after = statements[:position], statements[position + 1 :]
        if not (after and after[0].text.startswith(("else", "elif"))):
            yield before + after
            if statement.body and not statement.text.startswith(("def", "class", "else", "elif", "@")):
                yield before + statement.body + after
        for body in _without_one(statement.body):
            if body:
                yield (*before, replace(statement, body=body), *after)


def _rewritten(statements: tuple[Statement, ...], change: Change) -> Iterator[tuple[Statement, ...]]:
    for position, statement in enumerate(statements):
        before, after = statements[:position], statements[position + 1 :]
        for text in change(statement.text):
            yield (*before, replace(statement, text=text), *after)
        for body in _rewritten(statement.body, change):
            yield (*before, replace(statement, body=body), *after)


def _shorter_texts(text: str) -> Iterator[str]:
    """The statement with one expression replaced by a part of it."""
    tree = parsed(text)
    for node in () if tree is None else ast.walk(tree):
        if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            continue
        for part in ast.iter_child_nodes(node):
            is_value = isinstance(part, ast.expr) and not isinstance(part, ast.Starred)
            inner = ast.get_source_segment(text, part) if is_value else None
            if inner and "\n" not in text:
                shorter = text[: node.col_offset] + inner + text[node.end_col_offset :]
                if len(shorter) < len(text) and parsed(shorter) is not None:
                    yield shorter


def parsed(text: str) -> ast.Module | None:
    """The first lines of a statement as syntax, None for those that are none by themselves, such as `else:`."""
    try:
        return ast.parse(text + (" pass" if text.endswith(":") else ""))
    except SyntaxError:
        return None
