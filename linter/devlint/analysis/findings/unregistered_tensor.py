"""What a move does not reach: modules made on the spot, and attributes that a module does not register.

Two values meet on two devices (`conflicts`). Where one of them is there because a module was built inside the
function that calls it, or because it is a plain attribute of a module, that place is noted too: it is where the
program can be mended.
"""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.demand.callers import Doubt
from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings.client import runs_forward
from devlint.analysis.index import classes
from devlint.diagnostics import Certainty
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, Variable, is_symbolic
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance, LibraryObject, Optimizer
from devlint.domain.kinds import OperandRole, OriginKind
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand, OwnerModule
from devlint.domain.value import Closure, Kind, Opaque, Reference, Tensor, UserClass, Value
from devlint.facts import Built, LeftBehind, StaleOptimizer, Step
from devlint.frontend.ir import Function, Span
from devlint.torchlib.knowledge import MODULE_STEPS

KEPT = OriginKind.ATTRIBUTE
"""How a value came to be that a module holds without registering it; see `devlint.facts.Meeting.kind`."""


def holder(env: Environment, value: Value) -> OwnerModule:
    """What is known of a module as the holder of parameters and buffers."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    match held:
        case LibraryObject(origin=origin, cls=cls):
            made = origin if origin is not None and origin.kind is OriginKind.MODULE else None
            return OwnerModule(made, classes.is_criterion_name(cls))
        case Instance(origin=origin, cls=user_class):
            return OwnerModule(origin, classes.is_criterion(user_class))
        case _:
            return OwnerModule()


def kept(frame: Frame, name: str, value: Value, span: Span) -> Value:
    """A value that a module is given as a plain attribute, with that as the latest part of its story.

    Only what is declared as a tensor: a parameter or a module would register itself.
    """
    if not isinstance(value, Tensor) and not (isinstance(value, Opaque) and value.kind is Kind.TENSOR):
        return value
    if not frame.text(span).endswith(f".{name}"):
        return value
    what = f"`{frame.text(span)}` is not registered: moving the module leaves it behind"
    return replace(value, origin=frame.origin(what, span, KEPT, value.origin))


def note(frame: Frame, first: Operand, second: Operand, doubts: tuple[Doubt, ...] = ()) -> None:
    """Notes why two sides that meet, one of them always on the CPU, are apart, where that is a matter of placement.

    `doubts`: see `Recorder.record`.
    """
    for side, other in ((first, second), (second, first)):
        if side.device == CPU and is_symbolic(other.device):
            _note_built(frame, side, other, doubts)
            _note_left_behind(frame, side, other, doubts)


def note_given(frame: Frame, first: Operand, second: Operand) -> None:
    """Notes that an attribute which a module does not register, wherever it is, meets what moves in `forward`.

    Elsewhere nothing is said of it: whoever gave the module the tensor may have put it where it is used.
    """
    if not (first.certain and second.certain and first.role is second.role is OperandRole.OPERAND) or not runs_forward(
        frame
    ):
        return
    for side, other in ((first, second), (second, first)):
        if not isinstance(other.device, Variable) or other.device.place.is_fresh:
            continue
        if other.device.place.passes_device:
            continue  # what is put on `x.device` may well be put where the attribute is
        event = side.origin
        if event is None or event.kind != KEPT:
            continue
        put = event.because
        was_given = side.device == UNKNOWN_DEVICE and put is not None and put.kind is OriginKind.PARAMETER
        if not (was_given or _is_of_self(side.device)):
            continue
        if put is not None and (
            put.kind is OriginKind.MOVED or (put.kind is OriginKind.CREATED and not put.is_unasked)
        ):
            continue  # who chose that device has chosen it for the module, too
        if (put is not None and put.is_empty) or _is_stored_again(frame, event):
            continue
        if not (within(frame, event) or _is_stored_later(frame, event)):
            # Stored by this call, or another of the kind, it is where that has put it.
            _note_left_behind(frame, side, other, ())


def _note_built(frame: Frame, side: Operand, other: Operand, doubts: tuple[Doubt, ...]) -> None:
    """A module that the executed function builds is called with what the function was given."""
    made = None if side.module is None else side.module.made
    if side.module is None or side.module.criterion:
        return  # what a loss or metric holds is told by the conflict itself
    if made is None or not isinstance(frame.scope, Function) or not within(frame, made):
        return
    in_forward = frame.owner is not None and frame.scope.name.endswith(".forward") and classes.is_module(frame.owner)
    meets = frame.program.place(other.file, other.span)
    frame.record(made.span, Built(frame.text(made.span), other.name, other.device, meets, in_forward), doubts)


def _note_left_behind(frame: Frame, side: Operand, other: Operand, doubts: tuple[Doubt, ...]) -> None:
    """A plain attribute of the module whose method this is meets what moves: an input, a parameter, a buffer."""
    event = side.origin
    if event is None or event.kind != KEPT or event.file != frame.file:
        return
    if frame.owner is None or not classes.is_module(frame.owner):
        return
    if other.origin is not None and other.origin.kind == KEPT:
        return
    meets = frame.program.place(other.file, other.span)
    fact = LeftBehind(frame.text(event.span), side.device, other.name, other.device, meets)
    frame.record(event.span, fact, doubts)


def note_stale(frame: Frame, optimizer: str, held: Optimizer, now: Device, why: Origin | None, span: Span) -> None:
    """Notes that an optimizer steps at `span` with its state elsewhere than the parameters, which are there `now`."""
    events = [event for event in (held.origin, why) if event is not None]
    surely = not is_symbolic(now) and not any(event.checked for event in events)
    story = tuple(Step(frame.program.place(event.file, event.span), event.what) for event in events)
    certainty = Certainty.CERTAIN if surely else Certainty.ON_ACCELERATOR
    frame.record_at(frame.file, span, StaleOptimizer(optimizer, held.state, now, certainty, story))


def _is_stored_later(frame: Frame, event: Origin) -> bool:
    """Whether an attribute is stored by a method that may run whenever the module is used, of what it is given."""
    assert frame.owner is not None
    methods = (
        (name, method)
        for item in frame.owner.lineage
        if isinstance(item, UserClass)
        for name, method in item.attributes.items()
        if isinstance(method, Closure) and method.globals.file == event.file
    )
    storing = next((name for name, method in methods if method.function.span.holds(event.span)), "__init__")
    building = classes.reached_from(frame.owner, "__init__") - classes.reached_in_use(frame.owner)
    return storing != "__init__" and storing not in building


def _is_stored_again(frame: Frame, event: Origin) -> bool:
    """Whether `forward`, or a method that it calls, stores the attribute too, and so may put it where it is used."""
    assert frame.owner is not None
    name = frame.program.source(event.file, event.span).rpartition(".")[2]
    return any(name in classes.stored_from(frame.owner, step) for step in MODULE_STEPS)


def _is_of_self(device: Device) -> bool:
    return isinstance(device, Variable) and device.place.is_of_self


def within(frame: Frame, event: Origin) -> bool:
    """Whether something has happened inside the text of what is executed."""
    return event.file == frame.file and frame.scope.span.holds(event.span)
