"""Deciding whether values that must share a device do, and recording it when they do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from devlint.analysis import placement
from devlint.analysis.frame import Frame
from devlint.diagnostics import Certainty
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Device, Variable, differ
from devlint.domain.environment import Environment
from devlint.domain.provenance import Origin
from devlint.domain.summary import Requirement, Side
from devlint.facts import Conflict, Meeting, Step
from devlint.frontend.ir import Function, Span


def resolve(env: Environment, device: Device) -> Device:
    """The device under what branch conditions have said of it."""
    return env.assumptions.get(device, device) if isinstance(device, Variable) else device


def is_spared(side: Side) -> bool:
    """Whether the operation takes this value from wherever it is: a 0-dim tensor that its parameter exempts."""
    if side.rank != 0:
        return False
    return side.exempt == "any" or (side.exempt == "cpu" and side.device == CPU)


def may_be_spared(side: Side) -> bool:
    """Whether the value would be spared if it had no dimensions, of which nothing is known."""
    return bool(side.exempt) and side.rank is None and (side.exempt == "any" or not _is_accelerator(side.device))


def _is_accelerator(device: Device) -> bool:
    return isinstance(device, Concrete) and device.type not in ("cpu", "meta")


def find(frame: Frame, env: Environment, operation: str, span: Span, sides: Sequence[Side]) -> bool:
    """Records the first conflict among the sides, else the requirements; whether there was a conflict."""
    pairs = list(combinations(sides, 2))
    for first, second in pairs:
        kind = judge(first, second)
        if kind is not None:
            _report(frame, kind, operation, span, first, second)
            return True
    for first, second in pairs:
        if is_open(first, second):
            kind = "module-input" if first.module or second.module else "operands"
            message = wording(first, second)
            frame.requirements.append(
                Requirement(kind, operation, first, second, message, frame.file, span, env.always)
            )
    return False


def judge(first: Side, second: Side) -> str | None:
    """The kind of conflict between two sides, None if there is none."""
    if not (first.certain and second.certain):
        return None
    for side in (first, second):
        # A 0-dim tensor on the CPU may meet an accelerator; one of unknown rank may be that.
        if (may_be_spared(side) and side.device == CPU) or (side.exempt == "any" and side.rank is None):
            return None
    for side, other in ((first, second), (second, first)):
        if isinstance(side.device, Variable) and other.device == CPU:
            return "pinned"
    if differ(first.device, second.device):
        return "module-input" if (first.module is None) != (second.module is None) else "operands"
    return None


def is_open(first: Side, second: Side) -> bool:
    """Whether only a caller can tell: at least one follows something, and the two are not the same."""
    if not (first.certain and second.certain) or first.device == second.device:
        return False
    devices = (first.device, second.device)
    return any(isinstance(device, Variable) for device in devices) and UNKNOWN_DEVICE not in devices


def wording(first: Side, second: Side) -> str:
    """What PyTorch says (2.13; TensorIterator names the accelerator first, other operators the argument)."""
    if first.exempt or second.exempt:
        one, two = (first, second) if second.device == CPU else (second, first)
        return (
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{shown(one.device)} and {shown(two.device)}!"
        )
    return (
        f"Expected all tensors to be on the same device, but got {second.parameter} is on {shown(second.device)}, "
        f"different from other tensors on {shown(first.device)}"
    )


def shown(device: Device) -> str:
    """A device as PyTorch would print it; one that follows something is an accelerator, say `cuda:0`."""
    return "cuda:0" if isinstance(device, Variable) else str(device)


def _report(frame: Frame, kind: str, operation: str, span: Span, first: Side, second: Side) -> None:
    clash = ordered(Requirement(kind, operation, first, second, wording(first, second), frame.file, span, True))
    first, second = clash.first, clash.second
    frame.clashes.append(clash)
    checked = any(side.origin is not None and side.origin.checked for side in (first, second))
    certain = kind != "pinned" and not checked
    unless = _parameter_of(frame, first) if kind == "pinned" else None
    placement.note(frame, first, second, unless)
    frame.record(
        span,
        Conflict(
            described(clash),
            operation,
            meeting(frame, first),
            meeting(frame, second),
            Certainty.CERTAIN if certain else Certainty.ON_ACCELERATOR,
            clash.message,
        ),
        unless,
    )


def described(clash: Requirement) -> str:
    """The kind of a conflict as a fact: the state of a loss or metric on the CPU has a kind of its own."""
    sides = (clash.first, clash.second)
    stray = [side for side in sides if side.module is not None and side.module.criterion and side.device == CPU]
    return "criterion-state" if len(stray) == 1 else clash.kind


def _parameter_of(frame: Frame, side: Side) -> tuple[Function, str] | None:
    """The parameter of the executed function that a side follows, if it does."""
    if not isinstance(side.device, Variable) or not isinstance(frame.scope, Function):
        return None
    names = {parameter.name for parameter in frame.scope.parameters}
    root = re.match(r"\w+", side.device.place)
    return (frame.scope, root[0]) if root is not None and root[0] in names - {"self"} else None


def ordered(clash: Requirement) -> Requirement:
    """The same with the side first that a rule wants first: the module, or what follows something."""
    swap = (clash.kind == "pinned" and clash.first.device == CPU) or (
        clash.kind == "module-input" and clash.second.module is not None
    )
    return replace(clash, first=clash.second, second=clash.first) if swap else clash


def meeting(frame: Frame, side: Side) -> Meeting:
    """A side as a fact."""
    place = frame.program.place(side.file, side.span)
    if side.origin is None:
        return Meeting(side.name, side.device, place, (Step(place, f"is on {side.device}"),), "unknown")
    trace = tuple(step(frame, origin) for origin in side.origin.steps())
    return Meeting(side.name, side.device, place, trace, side.origin.born)


def step(frame: Frame, origin: Origin) -> Step:
    """One event as a step of a trace."""
    return Step(frame.program.place(origin.file, origin.span), origin.what)
