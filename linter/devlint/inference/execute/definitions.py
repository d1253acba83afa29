"""Functions and classes that a body defines, with their decorators."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.arguments import default_of
from devlint.inference.calls.attributes import read
from devlint.inference.execute.names import store
from devlint.inference.execute.run import block
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.values.objects import Function, Instance, Library, Wrapped, class_value, function, wrapped
from devlint.inference.values.tensors import Tensor, Tuple
from devlint.inference.values.terms import (
    NONE,
    OPTION,
    RUNS_IF,
    UNKNOWN,
    UNKNOWN_RESULT,
    Root,
    Value,
    attribute,
    is_symbolic,
    root_of,
)

DATACLASSES: Final = frozenset({"dataclasses.dataclass", "typing.final", "functools.total_ordering"})
"""Decorators of classes that give them no other constructor than their fields say."""

WRAPPERS: Final = {
    "property": "property",
    "functools.cached_property": "property",
    "staticmethod": "staticmethod",
    "classmethod": "classmethod",
}


def make_function(frame: Frame, instruction: ir.MakeFunction) -> None:
    """Make a closure, and apply its decorators."""
    path = _under_decorators(frame, instruction.decorators)
    body = frame.engine.body_of(frame, instruction.function)
    frame.path = path
    environment = _environment(frame) if body.around else NONE
    for name, register in instruction.defaults:
        if isinstance(environment, Instance):
            frame.heap.put(environment, default_of(body, name), frame.registers[register])
        else:
            frame.engine.set_default(body, name, frame.registers[register])
    made: Value = function(body, environment)
    for register in instruction.decorators:
        made = decorated(frame, made, frame.registers[register], instruction.span)
    frame.registers[instruction.target] = made


def _under_decorators(frame: Frame, decorators: tuple[int, ...]) -> tuple[Value, ...]:
    """Enter the tests of decorators without which a framework skips a function or class; return the path before."""
    path = frame.path
    for register in decorators:
        decorator = frame.registers[register]
        test = frame.heap.get(decorator, RUNS_IF)
        if test is not None:
            frame.under(test)
        elif isinstance(decorator, Function) or (isinstance(decorator, Root) and decorator.kind == UNKNOWN_RESULT):
            frame.under(UNKNOWN)  # it may call the function under a test of its own
    return path


def _environment(frame: Frame) -> Value:
    """Return the environment of a function that is defined here: it holds the variables of the functions around it."""
    if not isinstance(frame.environment, Instance):
        return frame.around if frame.body.around else NONE
    for name in sorted(frame.body.around - frame.body.scope.local_names):
        frame.heap.put(frame.environment, attribute(name), read(frame, frame.around, name, frame.span))
    return frame.environment


def decorated(frame: Frame, made: Value, decorator: Value, span: ir.Span) -> Value:
    """Return the result of a decorator; an unknown decorator returns the function itself."""
    if isinstance(decorator, Library) and decorator.name in WRAPPERS:
        return wrapped(WRAPPERS[decorator.name], made)
    if isinstance(decorator, Wrapped) and decorator.kind == "setter":
        return wrapped("property", decorator.function, made)
    top = root_of(decorator)
    if top is not None and top.kind == OPTION and isinstance(made, Function):
        frame.engine.demand.command(made.body)
    if isinstance(decorator, Function) and isinstance(made, Function):
        state = frame.state.fork()
        result = frame.engine.call(frame, decorator, Arguments([made], {}), span)
        if not frame.is_live:
            frame.state = state
        return result if isinstance(result, Function) and result.body.owner is None else made
    return made


def make_class(frame: Frame, instruction: ir.MakeClass) -> None:
    """Execute the body of a class."""
    bases = [frame.registers[each.register] for each in instruction.bases if each.keyword is None and not each.unpack]
    code = frame.engine.class_of(frame, instruction.body, tuple(bases))
    for register in instruction.decorators:
        decorator = frame.registers[register]
        is_plain = isinstance(decorator, (Library, Root)) and decorator.name in DATACLASSES
        code.is_open = code.is_open or not is_plain
    path, registers = _under_decorators(frame, instruction.decorators), frame.registers
    frame.registers = [UNKNOWN] * (instruction.body.registers + 1)
    frame.namespaces.append((code, {}))
    state = frame.state
    block(frame, instruction.body.body)
    frame.path = path
    if not frame.is_live:
        frame.state = state
    members = frame.namespaces.pop()[1]
    # One class serves all calls of the function around it, so a value of one call is unknown.
    code.members = {
        name: value if value.is_fixed or not _is_data(value) else UNKNOWN for name, value in members.items()
    }
    frame.registers = registers
    frame.registers[instruction.target] = class_value(code)


def _is_data(value: Value) -> bool:
    return is_symbolic(value) or isinstance(value, (Tensor, Tuple))


def import_module(frame: Frame, instruction: ir.Import) -> None:
    """Execute `Import`."""
    name = instruction.module if instruction.whole else instruction.module.partition(".")[0]
    store(frame, instruction.name, frame.engine.imported(frame, frame.body.file, name, "", 0))


def import_from(frame: Frame, instruction: ir.ImportFrom) -> None:
    """Execute `ImportFrom`."""
    if instruction.member != "*":
        value = frame.engine.imported(frame, frame.body.file, instruction.module, instruction.member, instruction.level)
        store(frame, instruction.name, value)
