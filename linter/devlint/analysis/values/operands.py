"""A value as one side of an operation: where it is, what excuses it, and how a report tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import permutations

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import partial_batch_move
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    Concrete,
    Device,
    Either,
    Variable,
    in_words,
    is_symbolic,
    join,
    opened,
    quoted,
)
from devlint.domain.environment import Environment
from devlint.domain.kinds import Exemption, OperandRole, OriginKind
from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import Kind, Opaque, Tensor
from devlint.facts import Meeting, Named, Step
from devlint.frontend.ir import Span

LOCAL = (OperandRole.HOST, OperandRole.CPU)
"""Roles of the side that stands for the CPU itself."""


def resolve(env: Environment, device: Device) -> Device:
    """The device under what branch conditions have said of it."""
    match device:
        case Variable():
            return env.assumptions.get(device, device)
        case Either(variables=variables) if variables:
            found = reduce(join, (resolve(env, variable) for variable in sorted(variables, key=str)))
            return opened(found) if device.open else found
        case _:
            return device


def is_exempt(side: Operand) -> bool:
    """Whether the operation takes this value from wherever it is."""
    match side.exemption:
        case Exemption.CPU:
            return side.rank == 0 and side.device == CPU
        case Exemption.ANY:
            return side.rank == 0
        case Exemption.DECIDES:
            return side.rank == 0 and not is_symbolic(side.device)
        case Exemption.SUBSCRIPT:
            return side.rank == 0 or side.device == CPU
        case _:
            return False


def may_be_exempt(side: Operand) -> bool:
    """Whether the operation would excuse the value, if its unknown rank were 0 or its unknown device the CPU."""
    return (
        side.exemption is not Exemption.NONE
        and side.rank in (None, 0)
        and (side.exemption is not Exemption.CPU or not is_accelerator(side.device))
    )


def is_accelerator(device: Device) -> bool:
    """Whether it is certainly an accelerator."""
    return isinstance(device, Concrete) and device.type not in ("cpu", "meta")


def side_of(
    frame: Frame, env: Environment, given: ArgumentValue, parameter: str, exemption: Exemption, role: OperandRole
) -> Operand | None:
    """An argument as a side; None if it is not known to be a tensor."""
    value = given.value
    if isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR:
        value = frame.tensor(value)
    if isinstance(value, Opaque):
        frame.note_unanswered(value)
    if not isinstance(value, Tensor):
        return None
    device = resolve(env, value.device)
    name, file, batch = frame.text(given.span), frame.file, partial_batch_move.batch_of(given.value)
    return Operand(
        name, device, value.rank, given.span, value.origin, exemption, True, parameter, role, file=file, batch=batch
    )


def note_joined(frame: Frame, env: Environment, span: Span, sides: Sequence[Operand]) -> None:
    """Notes each tensor on the CPU that meets a tensor of unknown device; see `Meeting.joined`."""
    if not frame.recording or env.fallback or env.on_host:
        return
    for one, other in permutations(sides, 2):
        if one.origin is not None and one.device == CPU and not _is_placed(other):
            frame.joined.setdefault((one.origin.file, one.origin.span), set()).add(span)


def _is_placed(side: Operand) -> bool:
    """Whether it is known where a value is, or it is no tensor that has to be anywhere."""
    if side.role not in (OperandRole.OPERAND, OperandRole.INDEX) or side.module is not None:
        return True
    if side.exemption is Exemption.ANY or (side.exemption is Exemption.SUBSCRIPT and not side.certain):
        return True
    if isinstance(side.device, Variable):
        return not (side.device.place.is_fresh or _is_of_loader(side.device.place))
    return side.device != UNKNOWN_DEVICE


def _is_of_loader(place: AccessPath) -> bool:
    """Whether a place is a part of what a loader gives, which the function was given or its object keeps."""
    loader = place.whole
    if loader is place or loader.is_fresh:
        return False
    kept = loader.is_of_self and len(loader.steps) == 1
    return (kept or not loader.steps) and str(loader).endswith("loader")


def meeting(frame: Frame, side: Operand) -> Meeting:
    """A side as a fact."""
    place, there = frame.program.place(side.file, side.span), side.inside
    inside = None if there is None else Named(there.name, frame.program.place(there.file, there.span))
    if side.origin is None:
        told = Step(place, f"{quoted(side.name)} is on {in_words(side.device)}")
        return Meeting(side.name, side.device, place, (told,), OriginKind.UNKNOWN, inside)
    trace = tuple(step(frame, origin) for origin in side.origin.steps())
    operations = frame.joined.get((side.origin.file, side.origin.span), ())
    joined = any(not operation.holds(side.span) for operation in operations)
    return Meeting(side.name, side.device, place, trace, _kind(frame, side.device, side.origin), inside, joined)


def _kind(frame: Frame, device: Device, origin: Origin) -> OriginKind:
    """How a value came to be on its device: what an argument holds that is used as a module came out of a module."""
    if origin.kind is not OriginKind.PARAMETER or not isinstance(device, Variable):
        return origin.kind
    return OriginKind.MODULE if frame.proofs.kinds.get(device.place) is Kind.MODULE else origin.kind


def step(frame: Frame, origin: Origin) -> Step:
    """One event as a step of a trace."""
    return Step(frame.program.place(origin.file, origin.span), origin.what)
