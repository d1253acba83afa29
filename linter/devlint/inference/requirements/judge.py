"""Judge requirements: a requirement is broken if the devices of two firm participants differ."""

from __future__ import annotations

from devlint.inference.values.data import (
    ALL_DIMENSIONS,
    DISCARDED,
    FOLLOWS,
    INDEX,
    ON_CPU,
    ONE_ELEMENT,
    READ_INDEX,
    Participant,
    Requirement,
)
from devlint.inference.values.devices import differ, possible
from devlint.inference.values.ranks import is_positive, number
from devlint.inference.values.tensors import CPU, Alternatives, Tensor
from devlint.inference.values.terms import (
    DEVICE,
    INPUT,
    NO_DEVICE,
    NONE,
    PROCESS,
    REPLACED,
    UNKNOWN,
    UNKNOWN_RESULT,
    Root,
    Symbol,
    Term,
    Value,
    is_symbolic,
    root,
    root_of,
    symbol,
)
from devlint.inference.worlds.choices import speaks_of_choices, worlds


def broken(requirement: Requirement) -> tuple[Participant, Participant] | None:
    """Return two participants that break a requirement in every world; None if there are none."""
    if requirement.kind == DISCARDED:
        only = requirement.participants[0]
        return (only, only) if isinstance(only.subject, Tensor) else None
    firm = [each for n, each in enumerate(requirement.participants) if is_firm(each, requirement.participants[:n])]
    for number_of, one in enumerate(firm):
        for two in firm[number_of + 1 :]:
            if differ(one.device, two.device) and not _may_read(requirement.kind, one, two):
                return one, two
    return None


def broken_in_a_world(requirement: Requirement) -> tuple[Participant, Participant] | None:
    """Return two participants that differ in a world in which all conditions hold; None if there is no such world."""
    participants = requirement.participants
    if not any(speaks_of_choices(each.device) for each in participants):
        return None
    values = [part for each in participants for part in (each.device, each.rank)]
    for world, conditions in worlds(values, requirement.conditions):
        if any(world.truth(each) is False for each in conditions):
            continue
        there = [each._replace(device=world.put(each.device), rank=world.put(each.rank)) for each in participants]
        found = broken(requirement._replace(participants=tuple(there)))
        if found is not None:
            return found
    return None


def is_guarded(requirement: Requirement) -> bool:
    """Whether an undecided test reads a participant: the program may use this test to avoid the error."""
    subjects = [each.subject for each in requirement.participants if each.subject is not NONE]
    return any(_reads(each, subjects) for each in requirement.conditions)


def _reads(condition: Value, subjects: list[Value]) -> bool:
    if not isinstance(condition, Term):
        return False
    if condition.operator == "asked" and condition.arguments[0] in subjects:
        return True
    return any(_reads(each, subjects) for each in condition.arguments)


def _may_read(kind: str, one: Participant, two: Participant) -> bool:
    """Whether one of the two is an index on the CPU, which each device reads."""
    return kind == READ_INDEX and CPU in [each.device for each in (one, two) if each.role == INDEX]


def is_firm(participant: Participant, before: tuple[Participant, ...]) -> bool:
    """Whether a participant must agree: whether it is certainly no tensor that is exempt, by those before it."""
    if participant.exemption == ALL_DIMENSIONS:
        return True
    if participant.exemption == ONE_ELEMENT:
        exact = number(participant.rank)
        return exact is not None and exact > 0
    may_follow = participant.exemption == FOLLOWS and any(each.device is not CPU for each in before)
    is_elsewhere = participant.exemption in (ON_CPU, FOLLOWS) and not may_follow
    if is_elsewhere and all(differ(each, CPU) for each in possible(participant.device)):
        return True
    return is_positive(participant.rank)


def is_open(requirement: Requirement) -> bool:
    """Whether a caller can break a requirement: two devices are known or come from the caller, and one does."""
    if requirement.kind == DISCARDED:
        return depends_on_caller(requirement.participants[0].subject)
    found = {each.device for each in requirement.participants if is_decidable(each.device)}
    speaks = [depends_on_caller(each) for each in found]
    ranks = [each.rank for each in requirement.participants if each.exemption != ALL_DIMENSIONS]
    return len(found) > 1 and (any(speaks) or any(map(depends_on_caller, ranks)))


def is_decidable(where: Value) -> bool:
    """Whether a device may become known: it is none, and does not rest on unknown results alone.

    One of several differs from another device only if each of them does.
    """
    if isinstance(where, Alternatives):
        return all(map(is_decidable, where.options))
    if isinstance(where, Term):
        parts = where.arguments[1:] if where.operator == "ite" else filter(is_symbolic, where.arguments)
        return any(map(is_decidable, parts))
    top = root_of(where)
    return where is not UNKNOWN and where is not NO_DEVICE and (top is None or top.kind != UNKNOWN_RESULT)


def depends_on_caller(value: Value) -> bool:
    """Whether a value contains a symbol that a caller replaces."""
    if isinstance(value, Root):
        return value.kind in REPLACED or value.kind == "process"
    if isinstance(value, Symbol):
        return depends_on_caller(value.root)
    if isinstance(value, Term):
        return any(map(depends_on_caller, value.arguments))
    return isinstance(value, Alternatives) and any(map(depends_on_caller, value.options))


def is_beside_caller(participants: list[Participant]) -> bool:
    """Whether the caller decides the device of one participant, and another one is on the CPU or the default device."""
    found = [each.device for each in participants]
    is_callers = [_is_of_caller(each) for each in found]
    return any(is_callers) and any(each is CPU or each is DEFAULT for each in found)


DEFAULT = symbol(root(PROCESS, "state"), DEVICE)


def _is_of_caller(value: Value) -> bool:
    top = root_of(value)
    if top is not None:
        return top.kind in REPLACED or top.kind == INPUT
    return isinstance(value, Term) and any(map(_is_of_caller, value.arguments))
