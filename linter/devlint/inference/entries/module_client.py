"""The client of a class of modules: makes one, moves it, and calls its `forward`, its steps and its other methods."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.frontend import ir
from devlint.inference.entries.inputs import inputs, is_proven, options
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import move
from devlint.inference.text.captured import instructions
from devlint.inference.values.code import Body, ClassCode
from devlint.inference.values.data import DISCARDED, OF_METHOD, OF_MODULE, Finding
from devlint.inference.values.objects import Function, Instance, bound, class_value
from devlint.inference.values.tensors import ACCELERATOR, Tensor
from devlint.inference.values.terms import NONE, UNKNOWN, Constant, attribute
from devlint.torchlib.knowledge import MODULE_STEPS


def findings(frame: Frame, code: ClassCode, is_wanted: bool) -> Iterator[Finding]:
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
