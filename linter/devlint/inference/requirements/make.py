"""Record the requirement of an operation."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.requirements.judge import (
    broken,
    broken_in_a_world,
    is_beside_caller,
    is_decidable,
    is_guarded,
    is_open,
)
from devlint.inference.state.frame import NOBODY, Frame
from devlint.inference.state.where import device_of, rank_of, source_of
from devlint.inference.text.operands import operands
from devlint.inference.values.code import Operand
from devlint.inference.values.data import (
    ALL_DIMENSIONS,
    DISCARDED,
    DRAWN,
    HOST,
    MOST_CONDITIONS,
    SHARE,
    TAKES_CPU,
    TENSOR,
    Finding,
    Participant,
    Place,
    Requirement,
)
from devlint.inference.values.folding import fold
from devlint.inference.values.tensors import CPU, Alternatives
from devlint.inference.values.terms import NO_DEVICE, NONE, Value


def participant(frame: Frame, value: Value, exemption: str = ALL_DIMENSIONS, role: str = TENSOR) -> Participant:
    """Return a value as a participant of a requirement."""
    return Participant(role, device_of(frame, value), rank_of(frame, value), source_of(frame, value), exemption, value)


def operand(frame: Frame, value: Value, span: ir.Span) -> Operand | None:
    """Return the first operand of an operation that has a value; None, if there is none in the text of the body."""
    body = frame.body
    if body.operands is None:
        body.operands = operands(body.scope, body.file.scope)
    for each in body.operands.get(span, ()):
        if frame.registers[each.register] is value:
            return each
    return None


def at_operand(frame: Frame, one: Participant, span: ir.Span) -> Participant:
    """Return a participant with the place of its operand."""
    found = operand(frame, one.subject, span)
    return one if found is None else one._replace(place=frame.place(found.span))


def require(
    frame: Frame, operation: str, participants: list[Participant], where: ir.Span | Place, kind: str = SHARE
) -> None:
    """Record the requirement of an operation, if two or more participants have a known or symbolic device."""
    taking_part = [each for each in participants if is_decidable(each.device)]
    if len(taking_part) < 2:
        return
    conditions = frame.conditions()[-MOST_CONDITIONS:]
    beside = is_beside_caller(taking_part)
    if isinstance(where, Place):
        place = where
    else:
        place = frame.place(where)
        taking_part = [at_operand(frame, each, where) for each in taking_part]
    note(frame, Requirement(kind, operation, tuple(taking_part), conditions, place, frame.body.name, beside))


def note(frame: Frame, requirement: Requirement) -> None:
    """Record a broken requirement as a finding, or keep an open one for the callers.

    Code in an exception handler requires nothing, because it only runs after an error. An execution
    with the answers of a caller hands its broken requirements to that caller, which is their only witness.
    """
    if frame.in_handler:
        return
    certain = broken(requirement)
    two = certain or broken_in_a_world(requirement)
    if two is None:
        if is_open(requirement) or requirement.kind == DISCARDED:  # `settle` knows more at the end
            frame.demand(requirement)
    elif frame.oracle is not NOBODY:
        frame.demand(requirement)
    elif not is_guarded(requirement):
        frame.findings[Finding(requirement, two[0], two[1], certain is None)] = None


def draw(frame: Frame, operation: str, where: Value, generator: Value, span: ir.Span) -> None:
    """Record that a generator draws numbers on a device; None stands for a generator that fits everywhere."""
    is_optional = isinstance(generator, Alternatives) and NONE in generator.options
    own = NO_DEVICE if generator is NONE or is_optional else device_of(frame, generator)
    both = [Participant("numbers", fold("by_type", where)), Participant("generator", fold("by_type", own))]
    require(frame, operation, both, span, DRAWN)


def pin(frame: Frame, operation: str, where: Value, place: ir.Span | Place) -> None:
    """Record that a tensor with pinned memory is on the CPU."""
    require(frame, operation, [Participant(TENSOR, where), Participant(HOST, CPU)], place, TAKES_CPU)
