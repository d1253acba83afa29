"""A call that leads to an operation in the called body: which of the two operands the call passes itself.

A report stands at the operation, unless the calls pass both operands. Then the called function is right, and the report
stands at the outermost call that passes both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from devlint.analysis.demand.callers import Unreached
from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts, unregistered_tensor
from devlint.analysis.findings.client import is_test
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.modules import is_module, state
from devlint.domain.environment import Environment
from devlint.domain.kinds import ConflictKind
from devlint.domain.provenance import LEADS_THERE, Origin
from devlint.domain.summary import AtOperation, Operand, Requirement
from devlint.domain.value import DeviceValue, Opaque, Reference, Tensor, Value
from devlint.facts import Conflict, Step
from devlint.frontend.ir import Function, Span
from devlint.records import dataclass

MOST_CALLS = 12
"""How many of the calls that lead to an operation are kept, the outermost."""

OF_ONE_VALUE = (ConflictKind.HOST, ConflictKind.CPU_ARGUMENT)
"""Conflicts of one value with what the operation itself wants."""


@dataclass(slots=True)
class LeadingCall:
    """A call in a frame.

    Attributes:
        env: what holds there.
        bound: the arguments, by parameter of the called function.
        span: where it stands.
    """

    frame: Frame
    env: Environment
    bound: Mapping[str, ArgumentValue]
    span: Span
    _origins: dict[Value, Collection[Origin | None]] = field(default_factory=dict)

    def led(self, requirement: Requirement) -> Requirement:
        """The same with one more call that leads to it."""
        calls = (*requirement.calls, (self.frame.file, self.span))[-MOST_CALLS:]
        sides = (requirement.first, requirement.second)
        arises_inside = requirement.arises_inside or requirement.kind in OF_ONE_VALUE
        if arises_inside or not all(map(self._hands_over, sides)):
            return replace(requirement, calls=calls, arises_inside=True)
        handing = requirement.handing if any(map(self._is_of_own_object, sides)) else len(requirement.calls) + 1
        first, second = (self._as_argument(side, requirement.kind) for side in sides)
        return replace(requirement, first=first, second=second, calls=calls, handing=handing)

    def report(self, requirement: Requirement) -> None:
        """Reports a conflict inside a called body that its own analysis cannot see."""
        frame, sides = self.frame, (requirement.first, requirement.second)
        if requirement.kind is ConflictKind.CPU_MEETS_SYMBOLIC and (
            conflicts.is_of_the_host(frame, *sides) or is_test(frame)
        ):
            return
        led = self.led(requirement)
        if frame.recording:
            doubts = conflicts.doubts_of(frame, *sides)
            doubts = (*doubts, *map(Unreached, requirement.points))
            unregistered_tensor.note(frame, *sides, doubts)
            via = [Step(frame.program.place(file, where), LEADS_THERE) for file, where in requirement.calls]
            operation = f"`{requirement.operation}` is called here"
            via = [*reversed(via), Step(frame.program.place(requirement.file, requirement.span), operation)]
            first, second = (operands.meeting(frame, _as_inside(side)) for side in (led.first, led.second))
            frame.record(
                self.span,
                Conflict(
                    conflicts.described(requirement),
                    requirement.operation,
                    first,
                    second,
                    conflicts.certainty(*sides, always=requirement.always and self.env.always),
                    requirement.message,
                    tuple(via),
                    arises_inside=led.arises_inside,
                    handing=led.handing,
                ),
                doubts,
            )
        frame.conflicts.append(replace(led, always=requirement.always and self.env.always, met=True))

    def _hands_over(self, side: Operand) -> bool:
        """Whether the call hands over the value of a side itself, or the module that registers it."""
        return (side.inside is not None and side.inside.is_argument) or self._argument_of(side) is not None

    def _argument_of(self, side: Operand) -> ArgumentValue | None:
        """The argument that is the value of a side, chose its device, or is the module that registers it."""
        for given in self.bound.values():
            value = given.value
            if isinstance(value, (Tensor, Opaque, DeviceValue)) and _decides(value, side):
                return given
            if side.origin in self._origins_in(value):
                return given
        return None

    def _as_argument(self, side: Operand, kind: ConflictKind) -> Operand:
        """A side in the words of the call that hands it over; what a module registers has its name at an operation."""
        is_named = side.inside is not None and side.inside.is_argument
        given = None if is_named else self._argument_of(side)
        if given is None:
            return _as_inside(side)
        if kind is not ConflictKind.MODULE_INPUT and is_module(self.frame, self.env, given.value):
            return _as_inside(side)
        return replace(_as_inside(side), name=self.frame.text(given.span), span=given.span, file=self.frame.file)

    def _is_of_own_object(self, side: Operand) -> bool:
        """Whether an object calls a method of its own that uses a part of it: no other module is handed over."""
        own = own_object(self.frame, self.env)
        if own is None or side.origin is None or all(given.value != own for given in self.bound.values()):
            return False
        return side.origin in self._origins_in(own)

    def _origins_in(self, value: Value) -> Collection[Origin | None]:
        """The origins of the parts of a module; none if the value is no module."""
        if not isinstance(value, (Reference, Opaque)) or not is_module(self.frame, self.env, value):
            return ()
        if value not in self._origins:
            self._origins[value] = {why for _, why in state(self.frame, self.env, value)}
        return self._origins[value]


def own_object(frame: Frame, env: Environment) -> Reference | None:
    """The object whose method is executed, if the first parameter is one."""
    parameters = frame.scope.parameters if frame.owner is not None and isinstance(frame.scope, Function) else ()
    own = env.names.get(parameters[0].name) if parameters else None
    return own if isinstance(own, Reference) else None


def _as_inside(side: Operand) -> Operand:
    """A side that also says what the operation calls it; with the caller's objects it is called by that name."""
    return side if side.inside else replace(side, inside=AtOperation(side.name, side.span, side.file))


def _decides(value: Tensor | Opaque | DeviceValue, side: Operand) -> bool:
    """Whether a value is that of a side itself, or was asked for its device when the side was created or moved."""
    if value.origin is None or side.origin is None:
        return False
    return value.origin == side.origin or (value.origin == side.origin.because and value.device == side.device)
