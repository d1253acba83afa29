"""The one binder: it assigns the arguments of a call to the parameters of a function."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.state.containers import get, one_element
from devlint.inference.state.frame import ENCLOSING, Arguments, Frame
from devlint.inference.values.code import Body
from devlint.inference.values.tensors import Row, pack, row
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    NONE,
    PARAMETER,
    UNKNOWN,
    Field,
    Root,
    Value,
    attribute,
    constant,
    root,
)


def parameter(name: str) -> Root:
    """Return the symbol of a parameter."""
    return root(PARAMETER, name)


def variadic(name: str) -> Root:
    """Return the symbol of `*name`: a tuple."""
    return root(PARAMETER, f"*{name}")


def keywords(name: str) -> Root:
    """Return the symbol of `**name`: the row of a dictionary."""
    return root(PARAMETER, f"**{name}")


def bound(frame: Frame, body: Body, environment: Value, arguments: Arguments) -> dict[Value, Value]:
    """Return the caller's values by symbol; UNKNOWN for a parameter whose argument cannot be determined."""
    assert body.function is not None
    given: dict[Value, Value] = {ENCLOSING: environment}
    rest, named = list(arguments.positional), dict(arguments.named)
    spread = None if arguments.spread is None else arguments.spread
    demand = frame.engine.demand
    for each in body.function.parameters:
        if each.kind == "args":
            given[variadic(each.name)] = _rest(rest, spread)
            rest = []
        elif each.kind == "kwargs":
            given[keywords(each.name)] = _named(body, named, arguments)
        elif each.kind != "keyword" and rest:
            demand.hand_over(body, each.name, True)
            given[parameter(each.name)] = rest.pop(0)
        elif each.kind != "positional" and each.name in named:
            demand.hand_over(body, each.name, True)
            given[parameter(each.name)] = named.pop(each.name)
        elif each.kind != "keyword" and spread is not None:
            given[parameter(each.name)] = one_element(frame, spread)
        else:
            demand.hand_over(body, each.name, False)
            given[parameter(each.name)] = _left_out(frame, body, environment, each, arguments)
    return given


def _rest(rest: list[Value], spread: Value | None) -> Value:
    if spread is None:
        return pack(*rest)
    return UNKNOWN if rest else spread


def default_of(body: Body, name: str) -> Field:
    """Return the field of an environment that holds a default of a function inside: each call may make another one."""
    return attribute(f"{name} of {body.name}")


def _left_out(frame: Frame, body: Body, environment: Value, each: ir.Parameter, arguments: Arguments) -> Value:
    default: Value = UNKNOWN
    if each.has_default and environment is NONE:
        default = frame.engine.default(body, each.name)
    elif each.has_default:
        found = frame.engine.read(frame, environment, default_of(body, each.name).name, frame.span)
        default = UNKNOWN if found is BOTTOM else found
    if arguments.row is None:
        return default
    return get(frame, arguments.row, constant(each.name), default)


def _named(body: Body, named: dict[str, Value], arguments: Arguments) -> Row:
    """Return the content of `**kwargs`: the keyword arguments that no other parameter has taken."""
    assert body.function is not None
    held = arguments.row if isinstance(arguments.row, Row) else None
    entries: dict[Value, Value] = dict(held.entries) if held is not None else {}
    if held is not None:
        for each in body.function.parameters:
            if each.kind in ("normal", "keyword"):
                entries[constant(each.name)] = ABSENT
    for name, value in named.items():
        entries[constant(name)] = value
    base = NONE if arguments.row is None else UNKNOWN if held is None else held.base
    if base is NONE:
        entries = {key: value for key, value in entries.items() if value is not ABSENT}
    return row(base, tuple(entries.items()))
