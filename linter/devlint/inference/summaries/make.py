"""The execution of a body with symbols, and its outcome."""

from __future__ import annotations

from devlint.inference.calls.arguments import keywords, parameter, variadic
from devlint.inference.execute.names import store
from devlint.inference.execute.statements import block
from devlint.inference.requirements.discards import settle
from devlint.inference.requirements.judge import broken, is_open
from devlint.inference.state.frame import Engine, Exit, Frame, Oracle, State, is_mark
from devlint.inference.state.heap import Heap
from devlint.inference.state.summary import Effect, Summary
from devlint.inference.values.code import Body
from devlint.inference.values.data import DISCARDED
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import either, join
from devlint.inference.values.objects import DICT, ENVIRONMENT, LIST
from devlint.inference.values.tensors import row
from devlint.inference.values.terms import (
    BOTTOM,
    ELEMENT,
    GLOBAL,
    MAPPING,
    NONE,
    OPTION,
    PROCESS,
    REPLACED,
    Root,
    Term,
    Value,
    is_symbolic,
    root_of,
)


def begin(engine: Engine, body: Body, oracle: Oracle) -> Frame:
    """Begin an execution of a body, with symbols for the values of its caller."""
    frame = Frame(engine, body, oracle, Heap())
    enter(frame, {})
    return frame


def enter(frame: Frame, given: dict[Value, Value]) -> None:
    """Bind each parameter of a function to its given value, else to its symbol."""
    function = frame.body.function
    assert function is not None
    if frame.body.captured:
        frame.environment = frame.make(ENVIRONMENT, function.span)
    for each in function.parameters:
        if each.kind == "kwargs":
            name: Value = keywords(each.name)
            value: Value = frame.make(DICT, function.span, NONE, f"**{each.name}")
            content = given.get(name, row(name))
            frame.heap.put(value, MAPPING, content)
        else:
            name = variadic(each.name) if each.kind == "args" else parameter(each.name)
            value = given.get(name, name)
        store(frame, each.name, value)


def run(frame: Frame) -> None:
    """Execute the instructions; the end of a function returns None."""
    block(frame, frame.body.scope.body)
    settle(frame)
    if frame.is_live:
        frame.exits.append(Exit(NONE, frame.state, ()))


def outcome(frame: Frame) -> Summary:
    """Return the summary of an execution."""
    kinds = tuple([each for each in frame.kinds if _is_callers(each)])
    requirements = tuple(
        [each for each in frame.requirements.values() if each.kind != DISCARDED or is_open(each) or broken(each)]
    )
    if not frame.exits:
        return Summary(requirements=requirements, kinds=kinds, is_endless=frame.is_endless)
    value, state = leave(frame)
    heap = state.heap
    effects: list[Effect] = []
    for owner in heap.objects():
        if _is_callers(owner):
            effects += [Effect(owner, field, held) for field, held in heap.fields(owner).items()]
    objects = heap.part([value, *[effect.value for effect in effects]])
    holds = tuple([each for each in state.passed if not (isinstance(each, Root) and each.place is not NONE)])
    return Summary(value, tuple(effects), objects, requirements, kinds, holds)


def leave(frame: Frame) -> tuple[Value, State]:
    """Return the value and the state of a function that has returned."""
    last = frame.exits[-1]
    value, state = last.value, last.state
    for exit_ in frame.exits[-2::-1]:
        test = _test(exit_)
        value = either(test, exit_.value, value) if is_symbolic(test) else join(exit_.value, value)
        state = exit_.state.joined(state, test)
    function = frame.body.function
    if function is not None and function.is_generator:
        frame.state = state
        value = frame.make(LIST, function.span, NONE, "yielded")
        if frame.yielded is not BOTTOM:
            state.heap.put(value, ELEMENT, frame.yielded)
    return value, state


def _test(exit_: Exit) -> Value:
    path = [each for each in exit_.path or () if not is_mark(each)]
    if not path:
        return NONE
    return path[0] if len(path) == 1 else fold("and", *path)


def _is_callers(value: Value) -> bool:
    """Whether a symbol or term stands for a value that the caller has as well."""
    top = root_of(value)
    if isinstance(value, Term):
        return any(map(_is_callers, value.arguments))
    return top is not None and (top.kind in REPLACED or top.kind in (PROCESS, OPTION, GLOBAL))
