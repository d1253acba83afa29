"""Totals that are added to in place: a tensor stays where it was created, whatever is added to it.

Out of place a tensor without dimensions may be on the CPU and meet any other. In place it may not: `total += loss`
raises as soon as the two are on different devices.
"""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings.pytorch_messages import wording
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    Concrete,
    Variable,
    is_symbolic,
    quoted,
)
from devlint.domain.environment import Environment
from devlint.domain.kinds import Exemption, OriginKind, TensorRole
from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import UNKNOWN, Kind, Opaque, Tensor, Value
from devlint.facts import Accumulation
from devlint.frontend.ir import Span

_OF_THE_OBJECT = "device=self."
"""In a call that creates something: the object has a device of its own, on which it is put."""


def note(frame: Frame, env: Environment, total: ArgumentValue, added: ArgumentValue, span: Span) -> None:
    """Notes that `total += added` has a total which nothing has put where the other is.

    * The total is on the CPU because nobody said where to create it, and whether the other is a tensor is unknown.
    * The total is an attribute of an object that puts it on a device of its own, and the other follows an argument.
    """
    value = total.value
    if env.fallback or not isinstance(value, Tensor) or value.role is not TensorRole.PLAIN or value.origin is None:
        return
    kept = frame.text(total.span).startswith("self.")
    if value.origin.kind is not OriginKind.CREATED or not (kept or frame.loops):
        return
    if value.device == CPU and value.rank == 0:
        apart = value.origin.because is None and not value.origin.checked and _may_be_anywhere(frame, added.value)
    else:
        apart = kept and _is_of_the_object(frame, value.origin, value) and _follows_an_argument(frame, added.value)
    if apart:
        name, file = frame.text(added.span), frame.file
        mine = Operand(
            frame.text(total.span), value.device, value.rank, total.span, value.origin, Exemption.CPU, file=file
        )
        there = added.value.device if isinstance(added.value, Tensor) else UNKNOWN_DEVICE
        there = there if is_symbolic(there) else Variable(AccessPath(name))
        event = frame.origin(f"{quoted(name)} is added here", added.span, OriginKind.UNKNOWN)
        other = Operand(name, there, None, added.span, event, Exemption.CPU, file=file)
        message = wording("+=", other, replace(mine, device=CPU))
        frame.record(span, Accumulation(operands.meeting(frame, mine), operands.meeting(frame, other), message))


def _may_be_anywhere(frame: Frame, value: Value) -> bool:
    """Whether a value may be a tensor that is not on the CPU, as far as is known."""
    if isinstance(value, Opaque):
        return frame.kind(value) is not Kind.MODULE
    return value == UNKNOWN or (isinstance(value, Tensor) and not isinstance(value.device, Concrete))


def _is_of_the_object(frame: Frame, origin: Origin, value: Tensor) -> bool:
    known = value.device == UNKNOWN_DEVICE or isinstance(value.device, Variable)
    return known and _OF_THE_OBJECT in frame.program.source(origin.file, origin.span)


def _follows_an_argument(frame: Frame, value: Value) -> bool:
    """Whether a value is a tensor that came with an argument, and that nothing has moved."""
    if not isinstance(value, Tensor) or not is_symbolic(value.device):
        return False
    return value.origin is not None and value.origin.kind is OriginKind.PARAMETER
