"""Moves whose result is discarded: a mistake if the moved value is a tensor, because `x.to(d)` leaves `x` in place."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.requirements.make import at_operand, note, participant
from devlint.inference.state.frame import Frame
from devlint.inference.stubs import TENSOR_CLASS
from devlint.inference.values.data import DISCARDED, MOST_CONDITIONS, Finding, Requirement
from devlint.inference.values.objects import library
from devlint.inference.values.tensors import Row, Source, Tensor, Tuple, options
from devlint.inference.values.terms import Value, is_symbolic, term


def discard(frame: Frame, operation: str, value: Value, span: ir.Span) -> None:
    """Record a move whose result is discarded.

    Except: a tensor that the same line creates, and that no name and no object holds.
    """
    if not all(isinstance(each, Tensor) or is_symbolic(each) for each in options(value)):
        return
    if isinstance(value, Tensor) and isinstance(value.source, Source):
        is_made_here = value.source.place[:2] == (frame.body.file.path, span.line)
        if is_made_here and not _is_held(frame, value):
            return
    place, one = frame.place(span), at_operand(frame, participant(frame, value), span)
    conditions = frame.conditions()[-MOST_CONDITIONS:]
    note(frame, Requirement(DISCARDED, operation, (one,), conditions, place, frame.body.name))


def _is_held(frame: Frame, value: Value) -> bool:
    """Whether a name or an object holds a value."""
    frame.heap.look_at_all()
    waiting = list(frame.state.names.values())
    for owner in frame.heap.objects():
        waiting.extend(frame.heap.fields(owner).values())
    while waiting:
        each = waiting.pop()
        if each is value:
            return True
        if isinstance(each, Tuple):
            waiting.extend(each.items)
        elif isinstance(each, Row):
            waiting.extend([held for _, held in each.entries])
    return False


def settle(frame: Frame) -> None:
    """Add a finding for each discarded move of a symbol that the body has proved or tested to be a tensor."""
    for requirement in list(frame.requirements.values()):
        if requirement.kind == DISCARDED:
            one = requirement.participants[0]
            test = term("isinstance", one.subject, library(TENSOR_CLASS))
            if one.subject in frame.kinds or test in requirement.conditions:
                frame.findings[Finding(requirement, one, one)] = None
