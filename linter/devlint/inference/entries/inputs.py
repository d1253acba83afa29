"""What a client hands over: options for a constructor, inputs on the accelerator for a call."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.values.code import Body
from devlint.inference.values.data import Finding
from devlint.inference.values.devices import parse
from devlint.inference.values.tensors import Tensor
from devlint.inference.values.terms import (
    INPUT,
    NONE,
    OPTION,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
    root,
    root_of,
)
from devlint.torchlib.knowledge import TENSOR_NAMES

PLAIN_TYPES: Final = frozenset({"int", "float", "str", "bool", "bytes", "dict", "pathlib.Path"})
"""Annotations that say that a value is no tensor."""


def options(frame: Frame, body: Body, skipped: int) -> Arguments:
    """Return a free option for each parameter, unless its default is no choice.

    A number, a text or None as a default is a choice, for which a user may give another one.
    """
    named: dict[str, Value] = {}
    for each in _named(body)[skipped:]:
        default = frame.engine.default(body, each.name) if each.has_default else None
        if default is None or isinstance(default, Constant):
            named[each.name] = root(OPTION, each.name, constant(body.name))
    return Arguments([], named)


def inputs(frame: Frame, body: Body, skipped: int) -> Arguments:
    """Return the arguments of a call: an input on the accelerator for each parameter that must be given.

    A parameter with None as a default is left out, unless each call of the project's own code gives an argument.
    """
    named: dict[str, Value] = {}
    positional: list[Value] = []
    for each in _named(body)[skipped:]:
        default = frame.engine.default(body, each.name) if each.has_default else None
        is_given = default is None or (default is NONE and frame.engine.demand.always_given(body, each.name))
        value = _input(frame, body, each, default)
        if is_given and each.kind == "positional":
            positional.append(value)
        elif is_given or value.kind == OPTION:
            named[each.name] = value
    return Arguments(positional, named)


def _named(body: Body) -> list[ir.Parameter]:
    assert body.function is not None
    return [each for each in body.function.parameters if each.kind not in ("args", "kwargs")]


def _input(frame: Frame, body: Body, each: ir.Parameter, default: Value | None) -> Root:
    """Return an input; a free option for a parameter that is a device or is annotated as something else."""
    names = set(each.annotation.names) - {"None"} if each.annotation is not None else set()
    is_device = isinstance(default, Constant) and isinstance(default.value, str) and parse(default.value) is not UNKNOWN
    if is_device or (default is None and names and names <= PLAIN_TYPES):
        return root(OPTION, each.name, constant(body.name))
    value = root(INPUT, each.name, constant(body.name))
    if names and names <= TENSOR_NAMES | {"Tensor"}:
        frame.kinds[value] = None
    return value


def is_proven(frame: Frame, finding: Finding) -> bool:
    """Whether the inputs that take part in a finding are tensors for certain."""
    subjects = [each.subject for each in (finding.one, finding.two)]
    symbols = [each for each in subjects if isinstance(each, (Root, Symbol)) and is_of_input(each)]
    return all(_is_tensor(frame, each) for each in symbols)


def is_of_input(value: Value) -> bool:
    """Whether a value is an input of a client, a part of one, or computed from one by operators alone."""
    if isinstance(value, Term):
        return any(map(is_of_input, value.arguments))
    if isinstance(value, Tensor):
        return is_of_input(value.source)
    top = root_of(value)
    return top is not None and top.kind == INPUT


def _is_tensor(frame: Frame, value: Value) -> bool:
    while value not in frame.kinds:
        if not isinstance(value, Symbol) or value.field.key is None or isinstance(value.field.key, Constant):
            return False
        value = value.parent
    return True
