"""The values behind a reported conflict: they are as if the program had been mended.

    net = nn.Linear(4, 2)
    out = net(x.cuda())
    out + labels
    net(x.cuda())

The first call is reported. Behind it, `out` is where the input is, so that the third line is judged as in the mended
program. The report asks for `net` on the device of the input, so `net` is there from then on, and the last call is no
second report. A tensor stays where it was made: code that uses it on the CPU is right, and a report at another use of
it has the same cause (`devlint.one_cause`).

`Environment.mended` keeps how a report has found a module. A turn of a loop begins with that, so that the turn which
is recorded finds what the first turn finds. Where paths meet, a module that a report on one of them asks to move has
moved on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.modules import is_module, module_device, place_object, state
from devlint.domain.device import CPU, META, UNKNOWN_DEVICE, Device, Variable, in_words
from devlint.domain.environment import Environment
from devlint.domain.heap import Optimizer
from devlint.domain.kinds import OriginKind
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand, Requirement
from devlint.domain.value import Reference
from devlint.frontend.ir import Span
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Mend:
    """A module that a report asks to move.

    Attributes:
        module: the module.
        there: the value that is on the device where the module has to be.
    """

    module: Reference
    there: Operand


def result(sides: Sequence[Operand]) -> tuple[Device, Origin | None]:
    """Where the result of an operation is behind a conflict, and why: with the one operand that is not on the CPU."""
    elsewhere = [side for side in sides if side.device not in (CPU, META, UNKNOWN_DEVICE)]
    if len({side.device for side in elsewhere}) != 1:
        return UNKNOWN_DEVICE, None
    return elsewhere[0].device, elsewhere[0].origin


def of_arguments(requirement: Requirement, first: Operand, second: Operand) -> dict[str, tuple[Device, Origin | None]]:
    """Where a call has the arguments that it hands over on the CPU, for the result of the call, with why.

    Args:
        requirement: what the summary of the called function asks for.
        first, second: its two sides with the values of the caller.
    """
    sides = ((requirement.first, first, second), (requirement.second, second, first))
    return {
        inner.device.root: (other.device, other.origin)
        for inner, side, other in sides
        if isinstance(inner.device, Variable) and side.device == CPU != other.device
    }


def of_operands(first: Operand, second: Operand) -> Iterator[Mend]:
    """The module among the two values of a conflict that the report asks to move."""
    for side, there in _left_on_cpu(first, second):
        if side.object is not None:
            yield Mend(Reference(side.object), there)


def of_call(
    frame: Frame, env: Environment, bound: Mapping[str, ArgumentValue], conflicts: Iterable[Requirement]
) -> list[Mend]:
    """The arguments of a call that conflicts inside of it ask to move: the modules that hold the values on the CPU."""
    return [
        Mend(given.value, there)
        for conflict in conflicts
        for side, there in _left_on_cpu(conflict.first, conflict.second)
        for given in bound.values()
        if isinstance(given.value, Reference) and is_module(frame, env, given.value)
        if any(device == CPU and why == side.origin for device, why in state(frame, env, given.value))
    ]


def _left_on_cpu(first: Operand, second: Operand) -> Iterator[tuple[Operand, Operand]]:
    """The value on the CPU with the one on an accelerator: where only callers know a device, the module stays."""
    for side, other in ((first, second), (second, first)):
        if side.device == CPU and side.origin is not None and operands.is_accelerator(other.device):
            yield side, other


def move(frame: Frame, env: Environment, mends: Iterable[Mend], span: Span) -> None:
    """Puts modules where the report at a place asks for them; not those with parts on a third device.

    They have been there from the beginning, as it were, and so has the state that optimizers keep for them.
    """
    for mend in mends:
        device, because = mend.there.device, mend.there.origin
        if not {found for found, _ in state(frame, env, mend.module)} <= {CPU, device}:
            continue
        place = in_words(device)
        what = f"the module is on {place} from here on, as if the mistake that devlint reports here were fixed"
        origin = frame.origin(what, span, OriginKind.MODULE, because)
        inner = env.heap.above()
        after = replace(env, heap=inner)
        place_object(frame, after, mend.module, device, origin)
        for identity, held in tuple(env.heap.items()):
            if not isinstance(held, Optimizer) or held.state != CPU or not held.modules:
                continue
            if all(module_device(frame, after, module)[0] == device for module in held.modules):
                inner[identity] = replace(held, state=device)
        changed = {key: (env.heap[key], held) for key, held in inner.changed() if env.heap.get(key) != held}
        env.heap = env.heap.take(inner)
        env.mended = {**env.mended, **changed}
