"""The clients of modules and functions: callers that devlint adds, with free options and inputs on the accelerator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devlint.frontend import ir
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import move
from devlint.inference.text.captured import instructions
from devlint.inference.values.code import Body, ClassCode
from devlint.inference.values.data import DISCARDED, OF_FUNCTION, OF_METHOD, OF_MODULE, Finding
from devlint.inference.values.devices import parse
from devlint.inference.values.objects import Function, Instance, bound, class_value, function
from devlint.inference.values.tensors import ACCELERATOR, Tensor
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
    attribute,
    constant,
    root,
    root_of,
)
from devlint.torchlib.knowledge import MODULE_STEPS, TENSOR_NAMES

PLAIN_TYPES: Final = frozenset({"int", "float", "str", "bool", "bytes", "dict", "pathlib.Path"})
"""Annotations that say that a value is no tensor."""


def of_module(frame: Frame, code: ClassCode, is_wanted: bool) -> Iterator[Finding]:
    """Yield the findings of a client that uses a class of modules on an accelerator.

    Args:
        frame: the frame of an entry.
        code: a class of modules of the project.
        is_wanted: whether the project asks for such a use.
    """
    span = code.scope.span
    frame.span = span
    found = code.lookup("__init__")
    given = Arguments([], {})
    if isinstance(found, Function) and found.body.function is not None:
        given = options(frame, found.body, 1)
    made = frame.engine.call(frame, class_value(code), given, span)
    if not isinstance(made, Instance) or not frame.is_live:
        return
    move(frame, made, ACCELERATOR, NONE)
    base = frame.state
    places_itself = [name for name, body in _methods(code).items() if body in frame.engine.demand.placing]
    for name, body in _ways_in(code):
        if name in places_itself:
            continue  # its callers do not move the object before
        frame.state, frame.findings = base.fork(), {}  # what the constructor does happens before the move
        for each in _stored_elsewhere(code, name):
            if isinstance(frame.heap.get(made, attribute(each)), (Tensor, Constant)):
                frame.heap.put(made, attribute(each), UNKNOWN)
        method = code.lookup(name)
        assert isinstance(method, Function)
        frame.engine.call(frame, bound(method, made), inputs(frame, body, 1), span)
        entry = OF_MODULE if name in MODULE_STEPS else OF_METHOD
        asked = is_wanted and (entry == OF_MODULE or not places_itself)
        for one in frame.findings:
            if one.requirement.kind != DISCARDED:
                yield one._replace(entry=entry, is_wanted=asked and is_proven(frame, one))


def _methods(code: ClassCode) -> dict[str, Body]:
    """Return the methods of a class and its bases, by name."""
    found: dict[str, Body] = {}
    for each in code.order:
        for name, held in each.members.items():
            if isinstance(held, Function) and held.body.function is not None and held.body.function.parameters:
                found.setdefault(name, held.body)
    return found


def _ways_in(code: ClassCode) -> list[tuple[str, Body]]:
    """Return the methods that a user calls: the steps of a module, and public ones that no other method mentions."""
    methods = _methods(code)
    mentioned = {name for body in methods.values() for name in _read_of_self(body)}
    steps = [(name, methods[name]) for name in MODULE_STEPS if name in methods]
    others = [
        (name, body)
        for name, body in methods.items()
        if name not in MODULE_STEPS and not name.startswith("_") and name not in mentioned
    ]
    return [(name, body) for name, body in (*steps, *others) if body.function is not None and not body.function.is_stub]


def _read_of_self(body: Body) -> set[str]:
    """Return the attributes of its own object that a method reads, by the text."""
    assert body.function is not None
    first, held, names = body.function.parameters[0].name, set(), set()
    for each in instructions(body.function.body):
        if isinstance(each, ir.Load) and each.name == first:
            held.add(each.target)
        elif isinstance(each, ir.Attribute) and each.base in held:
            names.add(each.name)
    return names


def _stored_elsewhere(code: ClassCode, name: str) -> list[str]:
    """Return the attributes that other public methods store, which a user may have called before."""
    found: set[str] = set()
    for each in code.order:
        for method, names in each.scope.self_stores.items():
            if method != name and not method.startswith("_"):
                found |= names
    return sorted(found)


def is_public(body: Body) -> bool:
    """Whether somebody else may call a function: it is no method, and is defined at the top level of its file."""
    called = body.function
    if called is None or body.owner is not None or body.around or not called.parameters or called.is_stub:
        return False
    return "." not in called.name and not called.is_private


def of_function(frame: Frame, body: Body) -> Iterator[Finding]:
    """Yield the findings of a client that calls a function with inputs on an accelerator.

    Args:
        frame: the frame of an entry.
        body: a function for which `is_public` holds.
    """
    frame.span = body.scope.span
    frame.engine.call(frame, function(body), inputs(frame, body, 0), frame.span)
    for each in frame.findings:
        if each.requirement.kind != DISCARDED:
            yield each._replace(entry=OF_FUNCTION, is_wanted=is_proven(frame, each))


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
