"""A generated program as a tree of statements, so that it can be rendered, repaired and shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

HEADER = "import sys; import torch; from torch import nn; import torch.nn.functional as F"
"""The first line of every program."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement on one line, with the statements inside it.

    Attributes:
        text: the line, without indentation.
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
    """

    name: str
    devices: int
    definitions: tuple[Definition, ...]
    main: tuple[Statement, ...]

    @property
    def text(self) -> str:
        """The program's source."""
        return self._rendered(self.main)

    @property
    def main_line(self) -> int:
        """The line on which `main` begins."""
        return 2 + sum(size(definition.statement) for definition in self.definitions)

    def driven(self, definition: Definition) -> str:
        """The definitions, on the same lines as in `text`, and the driver of one of them."""
        return self._rendered((Statement(definition.driver),))

    def _rendered(self, main: tuple[Statement, ...]) -> str:
        statements = (*(definition.statement for definition in self.definitions), *main)
        return "\n".join([HEADER, *rendered(statements)]) + "\n"

    def repaired(self, line: int) -> Program | None:
        """The program with the statement of `main` at a line replaced by what may stand there instead."""
        number = self.main_line
        for position, statement in enumerate(self.main):
            if number <= line < number + size(statement):
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
        for position in range(len(self.definitions)):
            yield replace(self, definitions=self.definitions[:position] + self.definitions[position + 1 :])
        for shorter in _without_one(self.main):
            yield replace(self, main=shorter)
        for position, definition in enumerate(self.definitions):
            for shorter in _without_one((definition.statement,)):
                if shorter and shorter[0].text == definition.statement.text:
                    changed = replace(definition, statement=shorter[0])
                    around = (self.definitions[:position], self.definitions[position + 1 :])
                    yield replace(self, definitions=(*around[0], changed, *around[1]))


def rendered(statements: tuple[Statement, ...], depth: int = 0) -> Iterator[str]:
    """The lines of statements."""
    for statement in statements:
        yield "    " * depth + statement.text
        yield from rendered(statement.body, depth + 1)


def size(statement: Statement) -> int:
    """How many lines a statement has."""
    return 1 + sum(size(inner) for inner in statement.body)


def _without_one(statements: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """The statements with one less, on any level, and with a compound one replaced by its body."""
    for position, statement in enumerate(statements):
        before, after = statements[:position], statements[position + 1 :]
        if not (after and after[0].text.startswith(("else", "elif"))):
            yield before + after
            if statement.body and not statement.text.startswith(("def", "class", "else", "elif")):
                yield before + statement.body + after
        for body in _without_one(statement.body):
            if body:
                yield (*before, replace(statement, body=body), *after)
