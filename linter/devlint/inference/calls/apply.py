"""A call of a function of the project: its summary, applied to the caller's values."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.arguments import bound
from devlint.inference.calls.copies import Copies
from devlint.inference.calls.substitution import Substitution
from devlint.inference.libraries.signatures import prove
from devlint.inference.requirements.propagate import hand_on
from devlint.inference.state.containers import append, set_item
from devlint.inference.state.frame import LARGEST_CONDITION, MOST_PASSED, Arguments, Frame, is_mark
from devlint.inference.state.moves import havoc, move, set_data
from devlint.inference.state.summary import Effect, Summary
from devlint.inference.state.where import PROCESS_STATE
from devlint.inference.values.joins import join
from devlint.inference.values.objects import Function, Instance
from devlint.inference.values.tensors import Tensor, as_test, options
from devlint.inference.values.terms import (
    APPENDED,
    BOTTOM,
    ELEMENT,
    ITEMS,
    MAPPING,
    MOVED,
    PARTS,
    UNKNOWN,
    Field,
    Root,
    Symbol,
    Value,
    is_symbolic,
)

RETURNED: Final = "<returned>"
"""The name of the result while the effects of a call replace tensors in all names."""

MOST_APPLIED: Final = 2
"""How many times a frame applies summaries of one body inside of each other."""


def call_function(frame: Frame, called: Function, arguments: Arguments, span: ir.Span) -> Value:
    """Call a function of the project: apply its effects and return its result.

    The result of a property or of `__getitem__` may be the one of another object, and so on without an end in sight.
    """
    applying, one = frame.engine.applying, (frame, called.body)
    if applying.count(one) >= MOST_APPLIED:
        return frame.unknown("call", span)
    frame.engine.demand.call(frame.body, called.body)
    given = bound(frame, called.body, called.environment, arguments)
    puts_in = Substitution(frame, given, span)
    applying.append(one)
    value = apply(frame, frame.engine.summary(called.body, puts_in), puts_in, span)
    applying.pop()
    return value


def apply(frame: Frame, summary: Summary, puts_in: Substitution, span: ir.Span) -> Value:
    """Apply a summary to the caller's values: hand on its requirements, write its effects, return its result."""
    for each in summary.kinds:
        prove(frame, puts_in.value(each))
    requirements = [puts_in.requirement(each) for each in summary.requirements]
    for requirement in requirements:
        if requirement is not None:
            hand_on(frame, requirement, span)
    value = puts_in.value(summary.returns)
    holds = [as_test(puts_in.value(each)) for each in summary.holds]
    effects = [_effect(puts_in, each) for each in summary.effects]
    copies = Copies(summary.objects, puts_in)
    made = copies.of((summary.returns, *[each.value for each in summary.effects]))
    if frame.body.function is None:
        copies.look_at_all(made)
    if summary.returns is BOTTOM:
        if not summary.is_endless or frame.body.function is not None:
            frame.is_endless = frame.is_endless or summary.is_endless
            frame.leave()
        return UNKNOWN
    kept = [each for each in holds if is_symbolic(each) and each.nodes <= LARGEST_CONDITION]
    passed = dict.fromkeys((*frame.state.passed, *kept))
    frame.state.passed = tuple(sorted(passed, key=is_mark, reverse=True))[-MOST_PASSED:]
    for owner, copied in made:
        frame.heap.copy(owner, copied)
    frame.state.names[RETURNED] = value
    for effect in effects:
        _write(frame, effect)
    return frame.state.names.pop(RETURNED)


def _effect(puts_in: Substitution, effect: Effect) -> Effect:
    return Effect(puts_in.value(effect.owner), effect.field, puts_in.value(effect.value))


def _write(frame: Frame, effect: Effect) -> None:
    """Repeat a store of a body into an object of its caller."""
    owner, field, value = effect
    owners = options(owner)
    for each in owners:
        if each is PROCESS_STATE:
            frame.heap.put(each, field, value)
        elif field is MOVED and value is UNKNOWN:
            havoc(frame, each)
        elif field is MOVED:
            move(frame, each, value, frame.source())
        elif field is APPENDED:
            append(frame, each, (value,))
        elif field.key is not None:
            set_item(frame, each, field.key, value)
        elif isinstance(each, (Root, Symbol, Instance)):
            _put(frame, each, field, value, len(owners) > 1)
        elif isinstance(each, Tensor) and field.kind == "." and field.name == "data":
            set_data(frame, each, value)


def _put(frame: Frame, owner: Value, field: Field, value: Value, is_one_of_several: bool) -> None:
    if is_one_of_several:
        value = join(frame.heap.get(owner, field) or UNKNOWN, value)
    if field in (ITEMS, MAPPING):
        frame.heap.drop(owner, ELEMENT)
        frame.heap.drop(owner, PARTS)
    elif field is ELEMENT:
        frame.heap.drop(owner, ITEMS)
    frame.heap.put(owner, field, value)
