"""Deciding whether values that must go together do, and recording it when they do not.

What the two sides are decides what is asked of them: most must share a device, an index on the CPU selects from
any tensor, a generator shares the type of the device only, and numpy reads from the CPU alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations

from devlint.analysis.demand.callers import Builds, Doubt, NoTensor, OnHost, Parameter, Uncalled, Unreached, Unwitnessed
from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import recovery, unregistered_tensor
from devlint.analysis.findings.client import (
    are_calls_seen,
    builds,
    is_called_by_name,
    is_on_accelerator_in_practice,
    is_out_of_the_graph,
    is_private,
    is_test,
    makes_host_data,
    may_be_given_on_the_host,
    runs_forward,
)
from devlint.analysis.findings.pytorch_messages import wording
from devlint.analysis.findings.unregistered_tensor import within
from devlint.analysis.index import classes
from devlint.analysis.values import partial_batch_move
from devlint.analysis.values.operands import LOCAL, is_accelerator, is_exempt, may_be_exempt, meeting
from devlint.diagnostics import Certainty
from devlint.domain.body import Point
from devlint.domain.device import (
    CHOSEN_BY_CALLER,
    CPU,
    UNKNOWN_DEVICE,
    Concrete,
    Device,
    Variable,
    differ,
    is_symbolic,
    variables_of,
)
from devlint.domain.environment import Environment
from devlint.domain.kinds import ConflictKind, OperandRole, OriginKind
from devlint.domain.place import SELF
from devlint.domain.provenance import OTHERS, TURN, Origin
from devlint.domain.summary import Operand, Requirement
from devlint.domain.value import SOME_DIMENSIONS
from devlint.facts import Conflict
from devlint.frontend.ir import Function, Span
from devlint.torchlib.knowledge import TOGETHER


def kind_of(first: Operand, second: Operand) -> ConflictKind:
    """What meets what, when the two do not go together; their devices may make it another kind."""
    roles = (first.role, second.role)
    for role, kind in (
        (OperandRole.HOST, ConflictKind.HOST),
        (OperandRole.CPU, ConflictKind.CPU_ARGUMENT),
        (OperandRole.GENERATOR, ConflictKind.GENERATOR),
    ):
        if role in roles:
            return kind
    if (first.role is OperandRole.INDEX) != (second.role is OperandRole.INDEX):
        return ConflictKind.INDEX
    return ConflictKind.OPERANDS if (first.module is None) == (second.module is None) else ConflictKind.MODULE_INPUT


def find(frame: Frame, env: Environment, operation: str, span: Span, sides: Sequence[Operand]) -> bool:
    """Records the first conflict among the sides, else the requirements; whether there was a conflict."""
    apart = [(one, other) for one, other in combinations(sides, 2) if not (is_exempt(one) or is_exempt(other))]
    pairs = [(one, other) for one, other in apart if may_meet(frame, env, one, other)]
    if operation in TOGETHER:
        pairs = [*pairs, *chain.from_iterable(among_elements(frame, side) for side in sides)]
    strays = chain.from_iterable(on_one_path(first, second) for first, second in pairs)
    left = (pair for pair in partial_batch_move.pairs_left_behind(frame, pairs) if not any(map(is_exempt, pair)))
    for first, second in chain(pairs, strays, left):
        kind = judge(frame, first, second)
        if kind is ConflictKind.CPU_MEETS_SYMBOLIC and _is_moved_later(frame, span, (first, second)):
            continue
        if kind is not None:
            others = _others_astray(frame, pairs, kind, first, second)
            _report(frame, kind, operation, span, first, second, others, always=env.always)
            recovery.move(frame, env, recovery.of_operands(first, second), span)
            return True
    for first, second in pairs:
        if not (may_be_exempt(first) or may_be_exempt(second)):
            unregistered_tensor.note_given(frame, first, second)
        if is_open(first, second):
            message = wording(operation, first, second)
            kind = kind_of(first, second)
            points = points_of(frame, first, second)
            clash = Requirement(kind, operation, first, second, message, frame.file, span, env.always, points=points)
            require(frame, env, clash)
    return False


def _others_astray(
    frame: Frame, pairs: Iterable[tuple[Operand, Operand]], kind: ConflictKind, first: Operand, second: Operand
) -> list[Operand]:
    """Return further operands that are on the CPU beside the one of two that is not, each for a reason of its own."""
    found: dict[Origin, Operand] = {}
    for astray, settled in ((first, second), (second, first)):
        if astray.device != CPU or settled.device == CPU:
            continue
        for one, other in pairs:
            further = other if one == settled else one if other == settled else None
            if further is None or further.device != CPU or further.origin in (None, astray.origin):
                continue
            if judge(frame, one, other) is kind and further.origin is not None:
                found.setdefault(further.origin, further)
    return list(found.values())


def is_of_the_host(frame: Frame, first: Operand, second: Operand) -> bool:
    """Whether the function may well be given on the host what meets a value that is there; see `client`."""
    return any(
        is_symbolic(side.device) and other.device == CPU and may_be_given_on_the_host(frame, side, other)
        for side, other in ((first, second), (second, first))
    )


def _is_moved_later(frame: Frame, span: Span, sides: Iterable[Operand]) -> bool:
    """Whether the function moves the result or an argument of a call afterwards: both operands are on the CPU then."""
    kinds = (OriginKind.PARAMETER, OriginKind.CREATED, OriginKind.HOST)
    given = all(side.origin is not None and side.origin.kind in kinds for side in sides)
    return given and span in frame.program.moved_later(frame.scope, frame.globals)


def require(frame: Frame, env: Environment, requirement: Requirement) -> None:
    """Leaves it to the callers whether two devices agree."""
    frame.requirements.append(requirement)
    env.compared |= {requirement.pair}


def on_one_path(first: Operand, second: Operand) -> Iterator[tuple[Operand, Operand]]:
    """The pair again where one side was created on the CPU on some path, and the other one follows something.

    In one turn of a loop that may be an accelerator, too: no test knows of that path.
    """
    for side, other in ((first, second), (second, first)):
        created = created_on_cpu(side)
        if created is None or is_exempt(created):
            continue
        in_a_turn = side.stray is not None and side.stray.subject == TURN and is_accelerator(other.device)
        if in_a_turn or (is_symbolic(other.device) and not _is_of_something_unknown(other.device)):
            yield created, other


def among_elements(frame: Frame, side: Operand) -> Iterator[tuple[Operand, Operand]]:
    """Two elements of the list that a side stands for, one of which was created on the CPU and the other was not.

    What a private function makes on the CPU may go with what its callers have there.
    """
    stray = side.stray
    if stray is None or stray.subject != OTHERS or not is_symbolic(stray.beside) or is_private(frame):
        return
    name = f"{side.name}[…]" if re.fullmatch(r"[\w.]+", side.name) else side.name
    there = replace(side, name=name, device=stray.beside, certain=True, stray=None)
    made = replace(side, device=CPU, origin=stray.origin, rank=stray.rank, certain=True, stray=None)
    if stray.origin.file == frame.file:
        made = replace(made, name=frame.text(stray.origin.span), span=stray.origin.span)
    yield there, made


def created_on_cpu(side: Operand) -> Operand | None:
    """A side as it is on the path on which it was created on the CPU, None if there is none."""
    if side.stray is None or not side.stray.may_meet:
        return None
    rank = side.stray.rank if side.rank is None else side.rank
    return replace(side, device=CPU, origin=side.stray.origin, rank=rank, certain=True)


def _is_of_something_unknown(device: Device) -> bool:
    """Whether it is the `.device` of what is unknown, which may be this very value."""
    return isinstance(device, Variable) and device.place.is_fresh and str(device.place).endswith(".device")


def find_on_cpu(frame: Frame, env: Environment, operation: str, span: Span, side: Operand, role: OperandRole) -> bool:
    """Records that a value is not on the CPU, where the operation wants it; whether it is not.

    One that follows something is on the CPU from here on if nothing speaks against it: else this would raise.
    """
    nothing_known = side.device == UNKNOWN_DEVICE and _is_untold(side)
    if nothing_known and is_out_of_the_graph(side) and not frame.has_cpu_inputs:
        side = replace(side, device=Variable(frame.fresh_symbol(side.name, span).path))
    wanted = frame.origin(f"`{operation}` needs a value on cpu here", span, OriginKind.HOST)
    here = Operand("the CPU", CPU, SOME_DIMENSIONS, span, wanted, role=role, file=frame.file)
    if env.fallback or not find(frame, env, operation, span, (side, here)):
        if isinstance(side.device, Variable) and not is_exempt(side):
            env.assumptions[side.device] = CPU
        return False
    return True


def _is_untold(side: Operand) -> bool:
    """Whether the story of a value is unknown: it is an argument, or is computed where it is used."""
    origin = side.origin
    return origin is None or origin.kind is OriginKind.PARAMETER or origin.span == side.span


def may_meet(frame: Frame, env: Environment, first: Operand, second: Operand) -> bool:
    """Whether two sides may be apart here: who has found one input on the CPU means all that come with it.

    So is a part of a batch that is not moved, or not yet, where another part is.
    """
    if env.on_host and any(isinstance(side.device, Variable) for side in (first, second)):
        return False
    pairs = ((first, second), (second, first))
    return not any(
        other.device == CPU and partial_batch_move.left_behind(frame, side) is not None for side, other in pairs
    )


def judge(frame: Frame, first: Operand, second: Operand, *, inside: bool = False) -> ConflictKind | None:
    """The kind of conflict between two sides, None if there is none.

    `inside`: the two meet inside a called function, because the call hands over one of them or both.
    """
    if not (first.certain and second.certain):
        return None
    for side in (first, second):
        # A 0-dim tensor on the CPU may meet an accelerator; one of unknown rank may be that.
        if side.rank is None and is_exempt(replace(side, rank=0)):
            return None
    kind = kind_of(first, second)
    for side, other in ((first, second), (second, first)):
        if is_symbolic(side.device) and other.device == CPU:
            if other.origin is not None and other.origin.kind is OriginKind.PARAMETER:
                return None  # a test has found it there, where the other one may be too
            if isinstance(side.device, Variable) and side.device.place.name in frame.on_cpu_by_default:
                return None  # a caller that passes another device is told so
            if kind in (ConflictKind.OPERANDS, ConflictKind.MODULE_INPUT, ConflictKind.INDEX) and builds(frame, side):
                return None
            if other.module is not None and not other.module.criterion and _is_put_nowhere(frame, side.device):
                return None  # a program that leaves the module on the CPU keeps its inputs there
            called = inside or frame.recorded not in (None, frame)
            if called and other.role not in LOCAL and _is_result_of_something_unknown(side):
                return None  # no call is known to pass tensors on two devices
            if kind is ConflictKind.OPERANDS and may_be_given_on_the_host(frame, side, other):
                return None
            if kind is ConflictKind.INDEX and makes_host_data(frame):
                return None
            if side.role is OperandRole.GENERATOR and (
                side.origin is None or side.origin.kind is not OriginKind.CREATED
            ):
                return None  # those from elsewhere are on the CPU as often as not
            if other.role in LOCAL and not is_on_accelerator_in_practice(frame, side, other.role):
                return None
            if is_test(frame) or _holds_a_place(frame, other):
                return None
            return (
                ConflictKind.CPU_MEETS_SYMBOLIC if kind in (ConflictKind.OPERANDS, ConflictKind.MODULE_INPUT) else kind
            )
    if kind is ConflictKind.GENERATOR:
        return kind if differ(_type_of(first.device), _type_of(second.device)) else None
    apart = differ(first.device, second.device)
    return kind if apart and not (_holds_a_place(frame, first) or _holds_a_place(frame, second)) else None


def _is_put_nowhere(frame: Frame, device: Device) -> bool:
    """Whether a value follows something unknown: neither an argument nor a module, nor a device with a name."""
    recorded = frame.recorded
    if recorded is None or not isinstance(device, Variable) or device.names_device:
        return False
    if device.root == SELF.name:
        return recorded.owner is None or not classes.is_module(recorded.owner)
    return device.root not in frame.program.recorder.demand.parameters(recorded.body)


def _is_result_of_something_unknown(side: Operand) -> bool:
    """Whether a value follows something unknown that is no module: a caller may have moved an unknown module."""
    if side.origin is None or side.origin.kind is OriginKind.MODULE or not isinstance(side.device, Variable):
        return False
    return _is_fresh(side.device) and not side.device.names_device


def _holds_a_place(frame: Frame, side: Operand) -> bool:
    """Whether a value was made without elements outside of what is executed, which may have asked for its size."""
    made = side.origin
    return made is not None and made.kind is OriginKind.CREATED and not within(frame, made) and made.is_empty


def _type_of(device: Device) -> Device:
    return Concrete(device.type) if isinstance(device, Concrete) else device


def is_open(first: Operand, second: Operand) -> bool:
    """Whether only a caller can tell: at least one follows something, and the two are not the same."""
    if not (first.certain and second.certain) or first.device == second.device:
        return False
    devices = (first.device, second.device)
    return any(map(variables_of, devices)) and UNKNOWN_DEVICE not in devices and CHOSEN_BY_CALLER not in devices


def certainty(first: Operand, second: Operand, *, always: bool = True) -> Certainty:
    """Certain, unless one side only follows something, or was put where it is after a check.

    A loop may have one turn only. `always`: whoever comes to the reported line comes to the two; a call need not take
    the branch that they are in.
    """
    sides = (first, second)
    in_next_turn = any(side.stray is not None and side.stray.is_later for side in sides)
    if not always or in_next_turn:
        return Certainty.ON_ACCELERATOR
    checked = any(side.origin is not None and side.origin.checked for side in sides)
    chosen = any(is_symbolic(side.device) for side in sides)
    return Certainty.ON_ACCELERATOR if checked or chosen else Certainty.CERTAIN


def _report(
    frame: Frame,
    kind: ConflictKind,
    operation: str,
    span: Span,
    first: Operand,
    second: Operand,
    others: Iterable[Operand],
    *,
    always: bool,
) -> None:
    message = wording(operation, first, second)
    points = points_of(frame, first, second)
    clash = Requirement(kind, operation, first, second, message, frame.file, span, always, met=True, points=points)
    clash = ordered(clash)
    first, second = clash.first, clash.second
    frame.conflicts.append(clash)
    doubts = doubts_of(frame, first, second)
    unregistered_tensor.note(frame, first, second, doubts)
    fact = Conflict(
        described(clash),
        operation,
        meeting(frame, first),
        meeting(frame, second),
        certainty(first, second),
        clash.message,
        others=tuple(meeting(frame, side) for side in others),
    )
    frame.record(span, fact, doubts)


def points_of(frame: Frame, *sides: Operand) -> tuple[Point, ...]:
    """The present point of a body, and those where it has made or moved some values; none if its calls are not seen."""
    if not are_calls_seen(frame):
        return ()
    events = (side.origin for side in sides if side.origin is not None and side.origin.file == frame.file)
    paths = (frame.path, *(frame.paths.get(event.span, ()) for event in events))
    return tuple(Point(frame.body, path) for path in dict.fromkeys(paths) if path)


def described(clash: Requirement) -> ConflictKind:
    """The kind of a conflict as a fact: the state of a loss or metric on the CPU has a kind of its own."""
    sides = (clash.first, clash.second)
    stray = [side for side in sides if side.module is not None and side.module.criterion and side.device == CPU]
    return ConflictKind.CRITERION_STATE if len(stray) == 1 else clash.kind


def doubts_of(frame: Frame, *sides: Operand) -> tuple[Doubt, ...]:
    """What the callers of the executed function may have in common, so that these sides do not differ."""
    devices = [side.device for side in sides]
    found: tuple[Doubt, ...] = parameters_of(frame, *devices)
    places = places_of(frame, *devices)
    if places:
        found = (*found, NoTensor(places))
    if places and not (
        runs_forward(frame) or any(one.names_device for device in devices for one in variables_of(device))
    ):
        found = (*found, Unwitnessed(places))
    if any(is_out_of_the_graph(side) and _is_untold(side) and _is_fresh(side.device) for side in sides):
        found = (*found, Unwitnessed(()))
    if any(is_symbolic(device) for device in devices):
        found = (*found, OnHost(frame.file))
    found = (*found, *map(Unreached, points_of(frame, *sides)))
    own = any(side.module is not None for side in sides)
    own = own or any(one.root.startswith(SELF.name) for device in devices for one in variables_of(device))
    if not own or not isinstance(frame.scope, Function) or frame.owner is None or runs_forward(frame):
        return found
    if not classes.is_module(frame.owner):
        return found
    found = (*found, Builds(frame.body))
    return (*found, Uncalled(frame.body)) if is_called_by_name(frame) else found


def _is_fresh(device: Device) -> bool:
    """Whether a device is that of something unknown which the execution has produced."""
    return isinstance(device, Variable) and device.place.is_fresh


def parameters_of(frame: Frame, *devices: Device) -> tuple[Parameter, ...]:
    """The parameters of the executed function, and those around it, that the first of some devices follows."""
    return tuple(dict.fromkeys((function, place.base) for function, place in places_of(frame, *devices)))


def places_of(frame: Frame, *devices: Device) -> tuple[Parameter, ...]:
    """The same with the places in the parameters; a device that the caller chooses is no place of a value."""
    seen = frame.program.recorder.demand.parameters(frame.body)
    for device in devices:
        followed = [one for one in variables_of(device) if one.root in seen]
        if followed:
            places = ((seen[one.root][0], one.value_place) for one in followed)
            return tuple(sorted(places, key=lambda parameter: str(parameter[1])))
    return ()


_SECOND = {
    ConflictKind.INDEX: (OperandRole.INDEX,),
    ConflictKind.GENERATOR: (OperandRole.GENERATOR,),
    ConflictKind.HOST: LOCAL,
    ConflictKind.CPU_ARGUMENT: LOCAL,
}


def ordered(clash: Requirement) -> Requirement:
    """The same with the sides in the order that `Conflict` says."""
    first, second = clash.first, clash.second
    match clash.kind:
        case ConflictKind.CPU_MEETS_SYMBOLIC:
            swap = first.device == CPU
        case ConflictKind.MODULE_INPUT:
            swap = second.module is not None
        case kind:
            swap = first.role in _SECOND.get(kind, ())
    return replace(clash, first=second, second=first) if swap else clash
