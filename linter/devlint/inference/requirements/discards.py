"""Moves whose result is thrown away: a mistake if what is moved is a tensor, which stays where it is."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.requirements.make import note, participant
from devlint.inference.state.frame import Frame
from devlint.inference.values.data import DISCARDED, MOST_CONDITIONS, Finding, Requirement
from devlint.inference.values.tensors import Row, Source, Tensor, Tuple
from devlint.inference.values.terms import Root, Symbol, Value


def discard(frame: Frame, operation: str, value: Value, span: ir.Span) -> None:
    """Note that the result of a move is thrown away; what is made for the move is left behind nowhere."""
    if not isinstance(value, (Tensor, Root, Symbol)):
        return
    if isinstance(value, Tensor) and isinstance(value.source, Source):
        is_made_here = (value.source.path, value.source.line) == (frame.body.file.path, span.line)
        if is_made_here and not _is_held(frame, value):
            return
    place = frame.place(span)
    conditions = frame.conditions()[-MOST_CONDITIONS:]
    note(frame, Requirement(DISCARDED, operation, (participant(frame, value),), conditions, place, frame.body.name))


def _is_held(frame: Frame, value: Value) -> bool:
    """Whether a name or an object holds a value."""
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
    """Find the discarded moves of what has turned out to be a tensor by the end of a body."""
    for requirement in list(frame.requirements):
        if requirement.kind == DISCARDED and requirement.participants[0].subject in frame.kinds:
            one = requirement.participants[0]
            frame.findings[Finding(requirement, one, one)] = None
