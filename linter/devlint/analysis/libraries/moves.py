"""Moving: tensors are copied, modules change in place with everything registered in them."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts
from devlint.analysis.values import partial_batch_move
from devlint.analysis.values.devices import landing
from devlint.analysis.values.modules import module_device, place_object
from devlint.domain.device import (
    META,
    UNKNOWN_DEVICE,
    Concrete,
    Device,
    in_words,
)
from devlint.domain.environment import Environment
from devlint.domain.heap import LibraryObject
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import (
    DeviceValue,
    Kind,
    Opaque,
    Reference,
    Tensor,
    Value,
)
from devlint.frontend.ir import Span


def moved_by(frame: Frame, target: DeviceValue, span: Span, how: str) -> Origin:
    """The event of a move."""
    what = f"moved to {in_words(target.device)} by `.{how}()`"
    return frame.origin(what, span, OriginKind.MOVED, target.origin, target.checked)


def move_tensor(frame: Frame, env: Environment, tensor: Tensor, target: DeviceValue, span: Span, how: str) -> Tensor:
    """A copy of the tensor on the target; a move to where it is keeps its story."""
    device = landing(env, target)
    frame.follow(device)
    if device == tensor.device != UNKNOWN_DEVICE:
        return replace(tensor, role=TensorRole.PLAIN)
    refuse_meta(frame, env, tensor.device, tensor.origin, replace(target, device=device), span, how)
    origin = moved_by(frame, replace(target, device=device), span, how)
    partial_batch_move.note_move(frame, tensor, device, origin)
    return Tensor(device, tensor.rank, origin=replace(origin, left=tensor.device))


def move_opaque(frame: Frame, env: Environment, value: Opaque, target: DeviceValue, span: Span, how: str) -> Value:
    """What `value.to(target)` is: a tensor's copy, or the module itself, or a container of a library.

    The receiver itself is left as it is if it is a tensor, and is on the target if it is a module.
    """
    device = landing(env, target)
    frame.follow(device)
    origin = moved_by(frame, replace(target, device=device), span, how)
    partial_batch_move.note_move(frame, value, device, origin)
    kind = frame.kind(value)
    if kind is Kind.TENSOR:
        return Tensor(device, None, origin=origin)
    return Opaque(value.path.call("to"), Kind.MOVABLE if kind in (Kind.ANY, Kind.OTHER) else kind, device, origin)


def move_object(frame: Frame, env: Environment, value: Reference, target: DeviceValue, span: Span, how: str) -> None:
    """Moves a module in place: its own parameters, and every registered part of it."""
    target = replace(target, device=landing(env, target))
    if how != "to_empty":
        refuse_meta(frame, env, *module_device(frame, env, value), target, span, how)
    place_object(frame, env, value, target.device, moved_by(frame, target, span, how))


def refuse_meta(
    frame: Frame, env: Environment, device: Device, origin: Origin | None, target: DeviceValue, span: Span, how: str
) -> None:
    """Records a copy of a meta tensor, which has no data, to a device."""
    if device == META and isinstance(target.device, Concrete) and target.device != META and not env.fallback:
        name = frame.text(span).rpartition(f".{how}")[0] or "the value"
        whole = Operand(name, META, None, span, origin, file=frame.file)
        wanted = moved_by(frame, target, span, how)
        there = Operand("its copy", target.device, None, span, wanted, file=frame.file)
        conflicts.find(frame, env, f".{how}()", span, (whole, there))


def moved_object(
    frame: Frame, env: Environment, held: LibraryObject, target: DeviceValue, span: Span, how: str
) -> LibraryObject:
    """An object of a library that holds tensors, after all of them have been moved."""
    device = landing(env, target)
    return replace(held, device=device, origin=moved_by(frame, replace(target, device=device), span, how))
