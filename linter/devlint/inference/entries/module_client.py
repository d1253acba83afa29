"""The client of a class of modules: makes one, moves it, and calls its `forward` or the steps of a trainer."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import move
from devlint.inference.values.code import Body, ClassCode
from devlint.inference.values.data import CLIENT, DISCARDED, Finding
from devlint.inference.values.devices import parse
from devlint.inference.values.objects import Function, Instance, bound, class_value
from devlint.inference.values.tensors import ACCELERATOR
from devlint.inference.values.terms import (
    INPUT,
    NONE,
    OPTION,
    UNKNOWN,
    Constant,
    Symbol,
    Value,
    constant,
    root,
    root_of,
)
from devlint.torchlib.knowledge import MODULE_STEPS, TENSOR_NAMES


def findings(frame: Frame, code: ClassCode) -> Iterator[Finding]:
    """Yield the findings of a client that uses a class of modules on an accelerator.

    Args:
        frame: the frame of an entry.
        code: a class of modules of the project.
    """
    span = code.scope.span
    frame.span = span
    made = frame.engine.call(frame, class_value(code), _options(frame, code), span)
    frame.findings = {}  # a constructor runs where nothing has been moved
    if not isinstance(made, Instance) or not frame.is_live:
        return
    move(frame, made, ACCELERATOR, NONE)
    base = frame.state
    for name in MODULE_STEPS:
        found = code.lookup(name)
        if not isinstance(found, Function) or found.body.function is None or found.body.function.is_stub:
            continue
        frame.state, frame.findings = base.fork(), {}
        frame.engine.call(frame, bound(found, made), _inputs(frame, found.body), span)
        for each in frame.findings:
            if each.requirement.kind != DISCARDED and _is_proven(frame, each):
                yield each._replace(entry=CLIENT)


def _options(frame: Frame, code: ClassCode) -> Arguments:
    """Return a free option for each named parameter of a constructor, unless its default is no choice."""
    found = code.lookup("__init__")
    named: dict[str, Value] = {}
    if isinstance(found, Function) and found.body.function is not None:
        for each in found.body.function.parameters[1:]:
            default = frame.engine.default(found.body, each.name) if each.has_default else None
            if each.kind not in ("args", "kwargs") and (default is None or _is_choice(default)):
                named[each.name] = root(OPTION, each.name, constant(found.body.name))
    return Arguments([], named)


def _is_choice(default: Value) -> bool:
    """Whether a default is a number, a text or None, for which a user may give another one."""
    return isinstance(default, Constant)


def _inputs(frame: Frame, body: Body) -> Arguments:
    """Return the arguments of a client: an input on the accelerator for each parameter without a default."""
    assert body.function is not None
    named: dict[str, Value] = {}
    for each in body.function.parameters[1:]:
        if each.kind in ("args", "kwargs"):
            continue
        default = frame.engine.default(body, each.name) if each.has_default else None
        names = set(each.annotation.names) - {"None"} if each.annotation is not None else set()
        is_device = (
            isinstance(default, Constant) and isinstance(default.value, str) and parse(default.value) is not UNKNOWN
        )
        if default is None or (default is NONE and not is_device):
            value = root(INPUT, each.name, constant(body.name))
            if names and names <= TENSOR_NAMES | {"Tensor"}:
                frame.kinds[value] = None
            if default is None:
                named[each.name] = value
    return Arguments([], named)


def _is_proven(frame: Frame, finding: Finding) -> bool:
    """Whether the inputs that take part in a finding are tensors for certain."""
    for each in (finding.one, finding.two):
        top = root_of(each.subject)
        if top is not None and top.kind == INPUT and not _is_tensor(frame, each.subject):
            return False
    return True


def _is_tensor(frame: Frame, value: Value) -> bool:
    while value not in frame.kinds:
        if not isinstance(value, Symbol) or value.field.key is None or isinstance(value.field.key, Constant):
            return False
        value = value.parent
    return True
