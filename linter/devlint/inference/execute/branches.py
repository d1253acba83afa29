"""Tests: `if`, conditional expressions, `and` and `or`, `try` and `with`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.attributes import read
from devlint.inference.calls.items import own_method
from devlint.inference.calls.knowledge import code_of, truth_of
from devlint.inference.execute.run import block
from devlint.inference.requirements.machines import discharge, need
from devlint.inference.state.containers import one_element
from devlint.inference.state.frame import LARGEST_CONDITION, MOST_PASSED, SOME_TEST, Arguments, Frame, State
from devlint.inference.state.where import PROCESS_STATE, default_device
from devlint.inference.values.devices import scope
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import either
from devlint.inference.values.objects import LIST, Instance
from devlint.inference.values.tensors import Device, as_test
from devlint.inference.values.terms import BOTTOM, DEVICE, UNKNOWN, Term, Value, is_symbolic

DEVICE_TERMS: Final = frozenset({"denoted"})


def if_(frame: Frame, instruction: ir.If) -> None:
    """Execute `If`."""
    test = frame.registers[instruction.test]
    branch(frame, test, lambda: block(frame, instruction.then), lambda: block(frame, instruction.orelse))


def branch(frame: Frame, test: Value, then: Callable[[], None], orelse: Callable[[], None]) -> None:
    """Execute the branch that a test chooses; if the test is undecided, execute both and join their states."""
    known = truth_of(frame, test)
    if known is not None:
        if known:
            then()
        else:
            orelse()
        return
    test = as_test(test)
    opposite = frame.opposite(test)
    before = frame.state.fork()
    path = frame.under(test)
    then()
    first = frame.state
    frame.state, frame.path = before, path
    frame.under(opposite)
    orelse()
    frame.path = path
    frame.state = meet_again(first, frame.state, test, opposite)


def meet_again(first: State, second: State, test: Value, opposite: Value) -> State:
    """Return the state behind two branches; behind one that leaves, the test of the other one holds."""
    if first.is_live and second.is_live:
        return first.joined(second, test)
    state = first if first.is_live else second
    left = test if first.is_live else opposite
    held = left if is_symbolic(left) and left.nodes <= LARGEST_CONDITION else SOME_TEST
    if state.is_live and held not in state.passed:
        state.passed = (*state.passed, held)[-MOST_PASSED:]
    return state


def conditional(frame: Frame, instruction: ir.Conditional) -> None:
    """Execute `Conditional`."""
    results: list[Value] = []

    def one() -> None:
        block(frame, instruction.then.block)
        results.append(frame.registers[instruction.then.register] if frame.is_live else BOTTOM)

    def other() -> None:
        block(frame, instruction.orelse.block)
        results.append(frame.registers[instruction.orelse.register] if frame.is_live else BOTTOM)

    test = frame.registers[instruction.test]
    branch(frame, test, one, other)
    frame.registers[instruction.target] = results[0] if len(results) == 1 else either(test, results[0], results[1])


def logic(frame: Frame, instruction: ir.Logic) -> None:
    """Execute `and` or `or`: the operands before decide whether an operand is reached."""
    is_or = instruction.operator == "or"
    values: list[Value] = []
    before: list[State] = []
    path = frame.path
    for number, operand in enumerate(instruction.operands):
        if number:
            known = truth_of(frame, values[-1])
            if known is is_or:
                break
            if known is None:
                before.append(frame.state.fork())
                frame.under(frame.opposite(values[-1]) if is_or else values[-1])
        block(frame, operand.block)
        if not frame.is_live:
            break
        values.append(frame.registers[operand.register])
    frame.path = path
    for state in reversed(before):
        frame.state = frame.state.joined(state)
    frame.registers[instruction.target] = fold(instruction.operator, *values) if values else UNKNOWN


def try_(frame: Frame, instruction: ir.Try) -> None:
    """Execute a `try`: a handler begins with the join of the states before and after the block.

    After means before the `raise` or `return` at its end.
    """
    before, known = frame.state.fork(), len(frame.requirements)
    leaves = bool(instruction.body) and isinstance(instruction.body[-1], (ir.Raise, ir.Return))
    block(frame, instruction.body[:-1] if leaves else instruction.body)
    last = len(frame.requirements)
    raised = before if not frame.is_live else before.fork().joined(frame.state.fork())
    raised.passed = before.passed
    if leaves and frame.is_live:
        block(frame, instruction.body[-1:])
    if frame.is_live:
        block(frame, instruction.orelse)
    states = [frame.state]
    for handler in instruction.handlers:
        frame.state = raised.fork()
        frame.in_handler += 1
        if handler.test is not None:
            block(frame, handler.test.block)
        if not (handler.body and isinstance(handler.body[-1], ir.Raise)):
            discharge(frame, known, last, UNKNOWN if handler.test is None else frame.registers[handler.test.register])
        block(frame, handler.body)
        frame.in_handler -= 1
        states.append(frame.state)
    whole = states[0]
    for each in states[1:]:
        whole = whole.joined(each)
    frame.state = whole
    if instruction.final:
        is_live = frame.is_live
        if not is_live:
            frame.state = raised.fork()
        block(frame, instruction.final)
        if not is_live:
            frame.leave()


def with_(frame: Frame, instruction: ir.With) -> None:
    """Execute a `with`: a device is the default device inside."""
    context = frame.registers[instruction.context]
    before = default_device(frame)
    inside = scope(context, before)
    is_device = isinstance(context, Device) or (isinstance(context, Term) and context.operator in DEVICE_TERMS)
    entered: Value = context if is_device else UNKNOWN
    called = own_method(context, "__enter__")
    if is_symbolic(context):
        held = read(frame, context, "__enter__", instruction.span)
        called = held if code_of(frame, held) is not None else None
    if called is not None:
        entered = frame.engine.call(frame, called, Arguments([], {}), instruction.span)
    elif isinstance(context, Instance) and context.kind == LIST:  # a generator that is a context manager
        entered = one_element(frame, context)
    elif not is_device:
        entered = frame.unknown("context", instruction.span)
    frame.registers[instruction.result] = entered
    if inside is not before:
        need(frame, "with", context, instruction.span)
        frame.heap.put(PROCESS_STATE, DEVICE, inside)
    block(frame, instruction.body)
    if inside is not before and frame.is_live:
        frame.heap.put(PROCESS_STATE, DEVICE, before)
