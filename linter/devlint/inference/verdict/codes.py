"""The rule that a finding breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devlint.inference.requirements.causes import NOT_PASSED, PART, STATE, stored_at
from devlint.inference.values.data import (
    DISCARDED,
    DRAWN,
    EXISTS,
    KEPT,
    LOADED,
    MAKES_ON_CPU,
    MODULE,
    NAMED,
    ON_HOST,
    READ_INDEX,
    SENT,
    SET_IN_TIME,
    TAKES_CPU,
    VISIBLE,
    WRAPPED,
    Finding,
    Place,
)
from devlint.inference.values.devices import differ, possible
from devlint.inference.values.objects import ClassValue
from devlint.inference.values.tensors import CPU, Device, Source, Tuple
from devlint.inference.values.terms import NONE, Constant, Value

ARITHMETIC: Final = "DEV101"
INPUT: Final = "DEV102"
ALWAYS_ON_CPU: Final = "DEV103"
INDEX: Final = "DEV104"
HOST: Final = "DEV105"
GENERATOR: Final = "DEV106"
CPU_ONLY: Final = "DEV107"
LOSS: Final = "DEV108"
DISCARDED_MOVE: Final = "DEV203"
NOT_PASSED_ON: Final = "DEV204"
OPTIMIZER_STATE: Final = "DEV206"
DEVICE_IDS: Final = "DEV401"
COLLECTIVE: Final = "DEV403"
HARD_CODED_CUDA: Final = "DEV301"
HARD_CODED_INDEX: Final = "DEV302"
INVALID_DEVICE: Final = "DEV303"
UNMAPPED_LOAD: Final = "DEV304"
VISIBLE_DEVICES: Final = "DEV305"

UNREGISTERED_TENSOR: Final = "DEV201"
UNREGISTERED_MODULES: Final = "DEV202"

BY_KIND: Final = {
    DISCARDED: DISCARDED_MOVE,
    READ_INDEX: INDEX,
    ON_HOST: HOST,
    TAKES_CPU: CPU_ONLY,
    KEPT: OPTIMIZER_STATE,
    WRAPPED: DEVICE_IDS,
    SENT: COLLECTIVE,
    DRAWN: GENERATOR,
    NAMED: INVALID_DEVICE,
    MAKES_ON_CPU: INVALID_DEVICE,
    LOADED: UNMAPPED_LOAD,
    VISIBLE: VISIBLE_DEVICES,
    SET_IN_TIME: VISIBLE_DEVICES,
}


def code_of(finding: Finding) -> str:
    """Return the code of the rule that a finding breaks."""
    found = BY_KIND.get(finding.requirement.kind)
    if found is not None:
        return found
    if any(how is STATE for _, _, how in _stayed(finding)):
        return LOSS
    if finding.requirement.kind == EXISTS:
        where = finding.one.device
        return HARD_CODED_INDEX if isinstance(where, Device) and ":" in where.name else HARD_CODED_CUDA
    if MODULE in (finding.one.role, finding.two.role):
        return INPUT
    return ALWAYS_ON_CPU if finding.requirement.is_beside_caller else ARITHMETIC


def place_of(finding: Finding) -> Place:
    """Return the place of a report: of the operation; for a name of a device, where the program binds it once."""
    kind, decided = finding.requirement.kind, finding.one.source
    is_name = kind == EXISTS or (kind == NAMED and isinstance(finding.one.device, Constant))
    if is_name and isinstance(decided, Source):
        return decided.place
    return finding.requirement.place


def causes_of(finding: Finding) -> Iterator[tuple[str, Place, str]]:
    """Yield the code, the place and the attribute of each store that keeps a participant of a finding unregistered."""
    for owner, name, how in _stayed(finding):
        if how is NOT_PASSED and isinstance(owner, Source):
            yield NOT_PASSED_ON, owner.place, ""
        kept = str(name.value) if isinstance(name, Constant) else ""
        place = stored_at(owner.code, kept) if isinstance(owner, ClassValue) and kept else None
        if place is not None and how is not STATE:
            yield UNREGISTERED_MODULES if how is PART else UNREGISTERED_TENSOR, place, f"self.{kept}"


def _stayed(finding: Finding) -> Iterator[tuple[Value, Value, Value]]:
    """Yield the class, the attribute and the way in which a module keeps a participant on the CPU."""
    for one, other in ((finding.one, finding.two), (finding.two, finding.one)):
        told = one.source if one.kept is NONE else one.kept
        if one.device is CPU and other.device is not CPU and isinstance(told, Tuple):
            owner, name, how = told.items
            known = name.items if isinstance(name, Tuple) else ()
            if how is not NOT_PASSED or any(
                _is_there(other.device, where) for each in known for where in possible(each)
            ):
                yield owner, name, how


def _is_there(where: Value, named: Value) -> bool:
    return isinstance(named, Device) and not differ(where, named)
