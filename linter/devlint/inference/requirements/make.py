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
from devlint.inference.values.data import (
    ALL_DIMENSIONS,
    DISCARDED,
    MOST_CONDITIONS,
    SHARE,
    TENSOR,
    Finding,
    Participant,
    Place,
    Requirement,
)
from devlint.inference.values.terms import Value


def participant(frame: Frame, value: Value, exemption: str = ALL_DIMENSIONS, role: str = TENSOR) -> Participant:
    """Return a value as a participant of a requirement."""
    return Participant(role, device_of(frame, value), rank_of(frame, value), source_of(frame, value), exemption, value)


def require(
    frame: Frame,
    operation: str,
    participants: list[Participant],
    span: ir.Span,
    kind: str = SHARE,
    place: Place | None = None,
) -> None:
    """Record the requirement of an operation, if two or more participants have a known or symbolic device.

    Args:
        frame: of the operation.
        operation: its name in the text.
        participants: what must share a device.
        span: of the operation.
        kind: see `Requirement`.
        place: of the text that asks for the operation, if that is elsewhere.
    """
    taking_part = [each for each in participants if is_decidable(each.device)]
    if len(taking_part) < 2:
        return
    conditions = frame.conditions()[-MOST_CONDITIONS:]
    beside = is_beside_caller(taking_part)
    where = frame.place(span) if place is None else place
    note(frame, Requirement(kind, operation, tuple(taking_part), conditions, where, frame.body.name, beside))


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
