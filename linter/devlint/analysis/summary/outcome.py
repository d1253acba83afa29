"""What an execution of a function body left behind, and the summary that says it in terms of the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts
from devlint.analysis.values import operands
from devlint.domain.device import CPU
from devlint.domain.environment import Environment, Pair
from devlint.domain.given import GivenConstant
from devlint.domain.given_object import GivenInstance, Store, place_of_handed
from devlint.domain.heap import ListObject, Object, held_by
from devlint.domain.kinds import ConflictKind
from devlint.domain.place import AccessPath
from devlint.domain.summary import Requirement, Summary
from devlint.domain.value import (
    BoundMethod,
    Closure,
    MaybeNone,
    Method,
    ObjectId,
    PartialCall,
    Predicate,
    Replace,
    Super,
    TupleValue,
    Value,
)
from devlint.records import dataclass


@dataclass(slots=True)
class Outcome:
    """What an execution of a function body left behind."""

    frame: Frame
    env: Environment | None
    value: Value | None


def summary_of(outcome: Outcome, start: Environment) -> Summary:
    """An outcome in the terms of the parameters."""
    uses = tuple(dict.fromkeys(outcome.frame.uses))
    if outcome.env is None:
        return Summary(
            None,
            tuple(outcome.frame.requirements),
            uses=uses,
            default_device_callees=frozenset(outcome.frame.default_device_callees),
            touches_devices=outcome.frame.touches_devices,
            called=frozenset(outcome.frame.called),
            tested=frozenset(outcome.frame.tested),
            skipped=outcome.frame.left_out,
        )
    changed: list[tuple[ObjectId, Object]] = []
    stores: list[Store] = []
    escaped: set[AccessPath] = set()
    for key, value in outcome.env.heap.changed():
        if isinstance(value, GivenInstance):
            stores += value.stores
            if value.has_escaped:
                escaped.add(value.place)
        else:
            changed.append((key, value))
    stored = (one.value for one in stores)
    _ask_of_hidden((outcome.value, *stored, *(held for _, thing in changed for held in held_by(thing))))
    _ask_of_hidden((held for _, thing in changed for held in _beside(thing)), hidden=True)
    handed = {key: place_of_handed(key) for key, _ in changed}
    if any(place is not None and place.steps for place in handed.values()):
        return Summary(None, needs_object=True)  # a list or dict of the caller is changed
    made = tuple((key, value) for key, value in changed if key not in start.heap or handed[key] is not None)
    requires = _distinct([*requirements(outcome), *outcome.frame.conflicts])
    after = outcome.env
    return Summary(
        outcome.value,
        requires,
        made,
        after.checked,
        None if after.default == start.default else after.default,
        "kept" if after.current == start.current else after.current,
        uses,
        after.process,
        frozenset(outcome.frame.default_device_callees),
        outcome.frame.touches_devices,
        frozenset(outcome.frame.called),
        frozenset(outcome.frame.tested),
        outcome.frame.left_out,
        len(made) == len(changed),
        tuple(stores),
        frozenset(escaped),
    )


def _beside(thing: Object) -> Iterator[Value]:
    """What an object keeps of values without holding them; `Substitution` leaves it as it is."""
    if isinstance(thing, ListObject):
        yield from (kept for kept in (thing.first, thing.owner) if kept is not None)


def _ask_of_hidden(values: Iterable[Value | None], *, hidden: bool = False) -> None:
    """Asks for the constants of a call in values which `Substitution` leaves as they are."""
    for value in values:
        match value:
            case GivenConstant() if hidden:
                value.ask()
            case TupleValue(items):
                _ask_of_hidden(items, hidden=hidden)
            case MaybeNone(held) | Method(held) | BoundMethod(receiver=held) | Super(held):
                _ask_of_hidden((held,), hidden=hidden)
            case Closure(defaults=defaults, enclosing=enclosing):
                _ask_of_hidden((held for _, held in (*defaults, *enclosing)), hidden=hidden)
            case PartialCall(function, arguments, keywords):
                _ask_of_hidden((function, *arguments, *(held for _, held in keywords)), hidden=hidden)
            case Predicate(holds, fails):
                proofs = [proof for proof in (*holds, *fails) if isinstance(proof, Replace)]
                _ask_of_hidden((held for proof in proofs for held in (proof.seen, proof.by)), hidden=True)


def requirements(outcome: Outcome) -> Iterator[Requirement]:
    """What an execution requires; of devices that are compared on every path, the least is always required."""
    pairs = frozenset() if outcome.env is None else outcome.env.compared
    least: dict[Pair, Requirement] = {}
    for one in outcome.frame.requirements:
        yield one
        if one.pair in pairs and (one.pair not in least or _tolerance(one) > _tolerance(least[one.pair])):
            least[one.pair] = one
    for one in least.values():
        yield replace(one, always=True)


def _tolerance(requirement: Requirement) -> int:
    """How many of its sides may be somewhere else if they have no dimensions."""
    return sum(map(operands.may_be_exempt, (requirement.first, requirement.second)))


def _distinct(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    """One requirement for each pair of devices: the first that the function meets. Each tensor on the CPU is one."""
    found: dict[object, Requirement] = {}
    for requirement in requirements:
        if requirement.kind is ConflictKind.CPU_MEETS_SYMBOLIC:  # where the argument is, each call knows
            requirement = replace(requirement, kind=conflicts.kind_of(requirement.first, requirement.second))
        devices = (requirement.first.device, requirement.second.device)
        ranks = (
            requirement.first.rank,
            requirement.first.exemption,
            requirement.second.rank,
            requirement.second.exemption,
        )
        sides = (requirement.first, requirement.second)
        made = tuple((side.origin.file, side.origin.span) for side in sides if side.origin and side.device == CPU)
        found.setdefault((requirement.kind, devices, made, ranks, requirement.always), requirement)
    return tuple(found.values())
