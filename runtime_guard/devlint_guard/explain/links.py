"""The links of the way back of a value: an expression each, and how it gave the next one its value."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from devlint_guard.explain.cores import inner
from devlint_guard.finding import Step
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN
from devlint_guard.record.stacks import shortened


class How(enum.Enum):
    """How an expression gave the next one its value."""

    HERE = "is"
    PASSED = "is passed as"
    ASSIGNED = "comes from"
    TAKEN = "is taken from"
    RETURNED = "is returned as"


@dataclass(frozen=True, slots=True)
class Link:
    """One expression on the way.

    Attributes:
        statement: of an assignment or a loop, the statement.
        variable: the name that it gave a value.
        value: the object that is followed, UNKNOWN where it is no longer the same.
    """

    how: How
    scope: Scope
    node: ast.expr
    statement: ast.AST | None = None
    variable: str = ""
    value: object = UNKNOWN

    @property
    def text(self) -> str:
        """Its source."""
        return self.scope.source.of(self.node)

    @property
    def step(self) -> Step:
        """As a report tells it."""
        return Step(f"{self.how.value} `{shortened(self.text)}`", self.scope.place(self.node))

    def core(self, device: str) -> ast.expr:
        """The innermost part that its value, on a device, comes from."""
        node = self.node
        while (found := inner(self.scope.reader, node, device)) is not None:
            node = found[0]
        return node

    def tensor(self, device: str) -> torch.Tensor | None:
        """The outermost part on its way inwards that is a tensor which is still there."""
        reader, node = self.scope.reader, self.node
        while not isinstance(value := reader.value(node), torch.Tensor):
            part = inner(reader, node, device)
            if part is None:
                return None
            node = part[0]
        return value


def steps_of(links: Sequence[Link]) -> tuple[Step, ...]:
    """The steps of a way, the oldest first. A caller that passes a value on under its own name is no step."""
    return tuple(one.step for one in links[:0:-1] if one.how is not How.PASSED or one.text != one.variable)
