"""The way back of a value: which part of an expression it comes from, `x` of `x.float()`, and the links of its way.

Each link is an expression, and how it gave the next one its value.
"""

from __future__ import annotations

import ast
import copy
import enum
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from devlint_guard.finding import Step
from devlint_guard.program.expressions import Reader, is_torch_function
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN, tensors_in
from devlint_guard.record.stacks import shortened

MOVES: Final = frozenset({"to", "cuda", "cpu"})
"""Methods whose result is where they say, wherever their tensor is."""

Inner = tuple[ast.expr, bool]
"""A part of an expression, and whether its value is the very object."""


def inner(reader: Reader, node: ast.expr, device: str) -> Inner | None:
    """The next part inwards; None for an expression that has its value from elsewhere.

    Args:
        reader: of its function.
        node: the expression.
        device: where its value is; empty where any part will do.
    """
    parts, is_same = _parts(reader, node, device)
    if len(parts) == 1 and not isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call)):
        return parts[0], is_same
    part = likely(reader, parts, device)
    return None if part is None else (part, is_same)


def _parts(reader: Reader, node: ast.expr, device: str) -> tuple[Sequence[ast.expr], bool]:
    """The parts that may give an expression its value, and whether this is the very object then."""
    match node:
        case ast.Starred() | ast.NamedExpr() | ast.Await():
            return [node.value], True
        case ast.IfExp():
            return [node.body, node.orelse], True
        case ast.BoolOp():
            return node.values, True
        case ast.Subscript():
            return [node.value], False
        case ast.UnaryOp():
            return [node.operand], False
        case ast.BinOp():
            return [node.left, node.right], False
        case ast.Compare():
            return [node.left, *node.comparators], False
        case ast.Attribute(attr=name) if name in ("T", "mT", "data", "real", "imag", "grad"):
            owner = reader.value(node.value)
            return [node.value] if owner is UNKNOWN or isinstance(owner, torch.Tensor) else [], False
        case ast.List() | ast.Tuple() | ast.Set():
            return node.elts, False
        case ast.Dict():
            return node.values, False
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            return [node.elt], False
        case ast.Call():
            return _parts_of_call(reader, node, device), False
    return [], False


def _parts_of_call(reader: Reader, node: ast.Call, device: str) -> Sequence[ast.expr]:
    function = reader.value(node.func)
    if any(function is one for one in _HAND_ON):
        return node.args[:1]
    if isinstance(node.func, ast.Attribute) and function is UNKNOWN:
        return _receiver(reader, node, node.func, device)
    if function is functools.partial:
        return [*node.args[1:], *(one.value for one in node.keywords)]
    if function is torch.device:
        return [] if device else node.args[:1]
    if is_torch_function(function) and function is not torch.load:
        is_made_here = reader.creates(node) and all(reader.device(one) is None for one in node.args)
        if is_made_here or any(keyword.arg == "device" for keyword in node.keywords):
            return []
        lists = (one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one] for one in node.args)
        return [one for elements in lists for one in elements]
    return []


def _receiver(reader: Reader, node: ast.Call, func: ast.Attribute, device: str) -> Sequence[ast.expr]:
    """What a method was called on, if its result is there, or is a part of it."""
    receiver, name = func.value, func.attr
    owner = reader.value(receiver)
    if name in ("items", "values", "get", "pop") and (owner is UNKNOWN or isinstance(owner, dict)):
        return [receiver]
    is_of_dtype = len(node.args) == 1 and not node.keywords and isinstance(reader.value(node.args[0]), torch.dtype)
    if name in MOVES and not is_of_dtype:
        return []
    is_tensor = isinstance(owner, torch.Tensor) or reader.device(receiver) is not None
    if owner is UNKNOWN and not is_tensor:
        return [receiver] if hasattr(torch.Tensor, name) else []
    return [receiver] if is_tensor and may_be_on(reader, receiver, device) else []


_HAND_ON: Final = (
    *(next, iter, enumerate, zip, list, tuple, reversed, sorted, dict),
    *(copy.copy, copy.deepcopy, torch.autograd.Variable, nn.Parameter),
)
"""Functions and classes that return their argument, a part of it or a copy, or that share its memory."""


def likely(reader: Reader, nodes: Sequence[ast.expr], device: str) -> ast.expr | None:
    """Of some expressions the first that may be on a device; otherwise the only one that may be anywhere."""
    found = next((one for one in nodes if may_be_on(reader, one, device)), None)
    if found is not None or not device:
        return found
    unknown = [one for one in nodes if reader.value(one) is UNKNOWN and reader.device(one) is None]
    return unknown[0] if len(unknown) == 1 else None


def may_be_on(reader: Reader, node: ast.expr, device: str) -> bool:
    """Whether the reader knows that the value of an expression has a tensor on a device."""
    value = reader.value(node)
    if not device:
        return not isinstance(node, ast.Constant)
    if isinstance(value, torch.Tensor):
        return str(value.device) == device
    if value is not UNKNOWN:
        return any(str(tensor.device) == device for _, tensor in tensors_in(value))
    found = reader.device(node)
    return found is not None and str(found).partition(":")[0] == device.partition(":")[0]


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

    def parts(self, device: str) -> Iterator[Inner]:
        """Itself, and the parts further and further inwards that its value, on a device, comes from."""
        part: Inner | None = (self.node, True)
        while part is not None:
            yield part
            part = inner(self.scope.reader, part[0], device)

    def core(self, device: str) -> ast.expr:
        """The innermost part that its value, on a device, comes from."""
        return [node for node, _ in self.parts(device)][-1]

    def tensor(self, device: str) -> torch.Tensor | None:
        """The outermost part on its way inwards that is a tensor which is still there."""
        values = (self.scope.reader.value(node) for node, _ in self.parts(device))
        return next((one for one in values if isinstance(one, torch.Tensor)), None)


def steps_of(links: Sequence[Link]) -> tuple[Step, ...]:
    """The steps of a way, the oldest first. A caller that passes a value on under its own name is no step."""
    return tuple(one.step for one in links[:0:-1] if one.how is not How.PASSED or one.text != one.variable)
