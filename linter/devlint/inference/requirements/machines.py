"""What a program needs of the machine and the process, judged on a machine that lacks it.

An operation that names a device needs it. The worlds that can break this requirement have one accelerator too few: none
for "cuda", two for "cuda:2"; or as many as CUDA_VISIBLE_DEVICES leaves. The tests on the way to the operation are the
conditions, so that a caller discharges the requirement by a test. An undecided test may be one for the device: then
nobody reports it. A function hands its requirements to its callers; an entry decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devlint.frontend import ir
from devlint.inference.requirements.causes import at_hand
from devlint.inference.requirements.judge import depends_on_caller
from devlint.inference.requirements.make import operand
from devlint.inference.state.frame import MOST_PASSED, SOME_TEST, Frame, is_mark
from devlint.inference.state.where import PROCESS_STATE, device_of, device_of_module, is_module, parts_of, stored
from devlint.inference.values.data import (
    EXISTS,
    HOST,
    LOADED,
    NAMED,
    ON_MACHINE,
    SET_IN_TIME,
    VISIBLE,
    Finding,
    Participant,
    Place,
    Requirement,
)
from devlint.inference.values.devices import denoted, possible, type_of
from devlint.inference.values.joins import either
from devlint.inference.values.objects import Instance, Library
from devlint.inference.values.tensors import CPU, Alternatives, Device, Tensor, Tuple, device, source
from devlint.inference.values.terms import (
    DEVICE,
    FALSE,
    INPUT,
    MARK,
    NO_DEVICE,
    NONE,
    OPTION,
    TRUE,
    UNKNOWN,
    UNKNOWN_RESULT,
    VISIBLE_DEVICES,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
    root,
    root_of,
)
from devlint.inference.worlds.choices import COUNT, World, speaks_of_choices

MANY: Final = 8
"""The accelerators of a machine that only lacks devices beyond its own number of them."""
MOST_TESTS: Final = 12
"""How many conditions a requirement on the machine may have; one with more is met."""
OF_TENSORS: Final = frozenset({"meet", "device_of", "device_of_data"})
"""Operations of terms that give the device of a tensor, which exists."""
CUDA: Final = device("cuda")
EMPTY: Final = World({COUNT: constant(0)})
NOWHERE: Final = Place("", 0, 0)
NOTHING: Final = Participant(HOST, NO_DEVICE)
STARTED: Final = root(MARK, "CUDA has started")
"""A condition of an operation behind the start of CUDA."""
TOLD_ONCE: Final = frozenset({EXISTS, NAMED})
"""The requirements that a way keeps once for each device: the first one."""
NO_ATTRIBUTE: Final = constant("no attribute `device`")
"""Names no device: what an object without this attribute gives."""
RAISED: Final = frozenset("Exception BaseException RuntimeError AssertionError AttributeError".split())
"""The errors that tell of a broken requirement."""


def need(frame: Frame, operation: str, named: Value, span: ir.Span, moved: Value = NONE, kind: str = EXISTS) -> None:
    """Record that an operation needs the device that a value names.

    Args:
        frame: of the operation.
        operation: its name in the text.
        named: the text, the number or the device.
        span: of the operation.
        moved: the value that goes there; only a tensor, or a module with parameters, needs the device.
        kind: EXISTS or NAMED.
    """
    if frame.in_handler or not _may_lack(named):
        return
    where = _memory(frame, moved)
    if where in (NO_DEVICE, UNKNOWN) and moved is not NONE and not isinstance(moved, Tensor):
        return
    goes = Participant(HOST, where, subject=NONE if moved in frame.kinds else moved)
    decided = _binding(frame, named, span)
    demand(frame, kind, operation, named, span, goes, decided)


def _binding(frame: Frame, named: Value, span: ir.Span) -> Value:
    """Return the place that binds the name of an argument; NONE, if the argument is no name, or one bound twice."""
    found = operand(frame, named, span)
    return source(frame.place(found.bound)) if found is not None and found.bound is not None else NONE


def _memory(frame: Frame, moved: Value) -> Value:
    """Return the device of a moved value; of a symbol, that of a part that the body has stored in it."""
    where: Value = NO_DEVICE
    for each in (*(parts_of(frame, moved) if isinstance(moved, (Root, Symbol)) else ()), moved):
        where = device_of_module(frame, each) if is_module(each) else device_of(frame, each)
        if where not in (NO_DEVICE, UNKNOWN):
            break
    return where


def need_attribute(frame: Frame, is_there: Value, span: ir.Span) -> None:
    """Record that a value has an attribute `device`, given the answer or the question whether it has."""
    named = NO_ATTRIBUTE if is_there is FALSE else either(is_there, CPU, NO_ATTRIBUTE)
    demand(frame, NAMED, ".device", named, span)


def set_variable(frame: Frame, name: Value, value: Value, span: ir.Span) -> None:
    """Record a change of an environment variable; CUDA does not see it after its start."""
    if name is not constant("CUDA_VISIBLE_DEVICES"):
        return
    demand(frame, SET_IN_TIME, "os.environ", value, span)
    if STARTED not in frame.state.passed:
        frame.heap.put(PROCESS_STATE, VISIBLE_DEVICES, value)


def hold(frame: Frame, mark: Value) -> None:
    """Record a mark for all that follows; it is the first condition that the state forgets."""
    if mark not in frame.state.passed:
        frame.state.passed = (mark, *frame.state.passed)[:MOST_PASSED]


def _in_use(kind: str, named: Value) -> Value:
    """Return the mark of operations behind one that has needed a device."""
    ordinal = _ordinal(named)
    return root(MARK, kind, named) if ordinal is None or kind != EXISTS else root(MARK, f"cuda:{ordinal} is in use")


def demand(
    frame: Frame,
    kind: str,
    operation: str,
    named: Value,
    span: ir.Span,
    goes: Participant = NOTHING,
    decided: Value = NONE,
) -> None:
    """Record a requirement on the machine or the process."""
    first, visible = NOTHING._replace(source=decided, subject=named), stored(frame, PROCESS_STATE, VISIBLE_DEVICES)
    participants = (first, goes, NOTHING._replace(subject=visible))
    pursue(frame, Requirement(kind, operation, participants, frame.every_test(), frame.place(span), frame.body.name))


def pursue(frame: Frame, requirement: Requirement) -> None:
    """Keep a requirement for the callers, unless no caller can break it, or another one on the way says the same."""
    kind, (first, goes, visible) = requirement.kind, requirement.participants
    named, conditions = first.subject, tuple([each for each in requirement.conditions if each is not TRUE])
    if kind == LOADED and goes.device is NO_DEVICE:
        known = [each for each in at_hand(frame) if all(map(_is_device, possible(each)))]
        goes = goes._replace(device=known[0] if known else NO_DEVICE)
    if frame.in_handler or len(conditions) > MOST_TESTS or FALSE in conditions:
        return
    if kind in (EXISTS, NAMED) and not _may_lack(named):
        return
    mark, ordinal = _in_use(kind, named), _ordinal(named)
    higher = range(ordinal + 1, MANY) if ordinal is not None and kind == EXISTS else ()
    if kind != SET_IN_TIME:
        if mark in conditions or any(_in_use(kind, device(f"cuda:{each}")) in conditions for each in higher):
            return
        if any(not _may_hold(each) for each in conditions):
            return
    requirement = requirement._replace(conditions=conditions, participants=(first, goes, visible))
    if _is_open(requirement) or broken_there(requirement, frame.engine.devices) is not None:
        short = (first._replace(source=NONE), goes, visible)
        same = requirement._replace(operation="", place=NOWHERE, body="", participants=short, chain=())
        frame.demand(requirement, same if kind in TOLD_ONCE else None)
    if kind in TOLD_ONCE and _is_proven(goes) and set(conditions) <= set(frame.every_test()):
        hold(frame, mark)
        if kind == EXISTS and ordinal is not None:
            hold(frame, STARTED)


def _is_device(value: Value) -> bool:
    return isinstance(denoted(value, NONE), Device) or (isinstance(value, Term) and value.operator == "denoted")


def _may_hold(condition: Value) -> bool:
    """Whether a condition holds for some caller or on some machine, as far as the analysis can tell."""
    if condition is SOME_TEST:
        return False
    return is_mark(condition) or depends_on_caller(condition) or EMPTY.put(condition) is not condition


def settle(frame: Frame) -> None:
    """Add a finding for each requirement on the machine that an entry breaks."""
    for requirement in list(frame.requirements.values()):
        found = broken_there(requirement, frame.engine.devices) if requirement.kind in ON_MACHINE else None
        if found is not None:
            frame.findings[found] = None


def discharge(frame: Frame, first: int, last: int, caught: Value) -> None:
    """Drop requirements that a handler does without.

    Args:
        frame: the execution.
        first, last: the numbers of requirements before and behind the block of the `try`.
        caught: the class of the errors that the handler takes, or several; UNKNOWN for all.
    """
    names = {
        each.name for each in (caught.items if isinstance(caught, Tuple) else (caught,)) if isinstance(each, Library)
    }
    for each in list(frame.requirements)[first:last]:
        if caught is UNKNOWN or (names & RAISED and each.kind in (EXISTS, NAMED, LOADED)):
            del frame.requirements[each]


# --- judging --------------------------------------------------------------------------------------------------


def broken_there(requirement: Requirement, devices: int | None) -> Finding | None:
    """Return the finding in the first world that breaks a requirement on the machine, which may have known devices."""
    named, goes, visible = requirement.participants
    kind, subject = requirement.kind, named.subject
    if not _is_proven(goes):
        return None
    if kind == SET_IN_TIME:
        return _found(requirement, kind, NO_DEVICE, True) if STARTED in requirement.conditions else None
    tests = [each for each in requirement.conditions if each is SOME_TEST or not is_mark(each)]
    left, most = _number_of(visible.subject), MANY if devices is None else devices
    fewer = sorted(set(_ordinals(subject))) if devices is None else []
    for number in dict.fromkeys([*([] if left is None else [left]), most, *fewer]):
        world = World({COUNT: constant(number)})
        if not all(world.truth(each) for each in tests):
            continue
        there = world.put(subject)
        ordinal, where = _ordinal(there), denoted(there, NO_DEVICE)
        if isinstance(there, Constant) and where is UNKNOWN:
            return _found(requirement, NAMED, there, there is not subject)
        if kind != NAMED and ordinal is not None and ordinal >= number:
            is_beyond = number == most and speaks_of_choices(subject)
            return _found(requirement, VISIBLE if number == left else NAMED if is_beyond else kind, where, True)
    return None


def _found(requirement: Requirement, kind: str, where: Value, is_of_world: bool) -> Finding:
    one = requirement.participants[0]._replace(device=where)
    return Finding(requirement._replace(kind=kind), one, one, is_of_world)


def _ordinal(value: Value) -> int | None:
    """Return the number of the CUDA device that a value names, 0 for the current one; None if it names no such one."""
    where = denoted(value, NO_DEVICE)
    if not isinstance(where, Device) or type_of(where.name) != "cuda":
        return None
    return int(where.name.partition(":")[2] or 0)


def _ordinals(value: Value) -> Iterator[int]:
    """Yield the numbers of all CUDA devices that a value may name."""
    ordinal = _ordinal(value)
    if ordinal is not None:
        yield ordinal
    parts = value.arguments if isinstance(value, Term) else value.options if isinstance(value, Alternatives) else ()
    for each in parts:
        yield from _ordinals(each)


def _number_of(visible: Value) -> int | None:
    """Return how many devices a text of CUDA_VISIBLE_DEVICES leaves; None if that is unknown."""
    if not isinstance(visible, Constant) or not isinstance(visible.value, str):
        return None
    names = [each.strip() for each in visible.value.split(",")] if visible.value.strip() else []
    return names.index("-1") if "-1" in names else len(names)


def _may_lack(value: Value) -> bool:
    """Whether a machine may lack the device that a value names, as far as anybody in the project decides it."""
    if isinstance(value, Constant):
        return type(value.value) in (str, int) and denoted(value, NONE) is not CPU
    if isinstance(value, Device):
        return type_of(value.name) == "cuda"
    if isinstance(value, Alternatives):
        return any(map(_may_lack, value.options))
    if isinstance(value, Term):
        return value.operator not in OF_TENSORS
    top = root_of(value)
    if top is None or top.kind in (OPTION, INPUT, UNKNOWN_RESULT):
        return False
    return isinstance(value, Root) or (isinstance(value, Symbol) and value.field is not DEVICE)


def _is_proven(goes: Participant) -> bool:
    """Whether a moved value needs its new device: it is a tensor, or a module with parameters."""
    if goes.subject is NONE or isinstance(goes.subject, Tensor):
        return True
    return isinstance(goes.subject, Instance) and goes.device not in (NO_DEVICE, UNKNOWN)


def _is_open(requirement: Requirement) -> bool:
    if requirement.kind == SET_IN_TIME:
        return True
    subjects = [each.subject for each in requirement.participants[:-1]]
    return any(map(depends_on_caller, (*subjects, *requirement.conditions)))
