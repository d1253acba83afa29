"""What is moved while something that goes with it is not: on another path, or in the same turn of a loop.

The branches of one `if` each move something, and not the same; or one branch moves what a name holds from then on, and
in the other one the name holds a part of some object, which stays where that is; or a loop collects results, of which
it copies some to the CPU.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, is_symbolic
from devlint.domain.environment import Environment
from devlint.domain.kinds import OriginKind
from devlint.domain.place import SELF, AccessPath, StepKind
from devlint.domain.summary import Operand
from devlint.domain.value import DeviceValue, ObjectId, Opaque, Tensor, Value
from devlint.facts import Meeting, PartialMove, PartialOffload
from devlint.frontend import ir
from devlint.torchlib.knowledge import MOVES


def note_branches(frame: Frame, instruction: ir.If) -> None:
    """Record that two branches of an `if` with its `elif`s each move a name that the other one does not."""
    moved = list(_moved_in_branches(frame, instruction).values())
    for position, mine in enumerate(moved):
        for theirs in moved[position + 1 :]:
            ours, others = sorted(mine.keys() - theirs.keys()), sorted(theirs.keys() - mine.keys())
            if ours and others:
                one, other = mine[ours[0]], theirs[others[0]]
                _record(frame, replace(one, name=ours[0]), replace(other, name=others[0]))
                return


def _moved_in_branches(frame: Frame, instruction: ir.If) -> dict[frozenset[str], dict[str, Operand]]:
    """Return the moves in the branches of an `if` with its `elif`s: of branches that move the same names, the first.

    An `elif` has been executed before the `if` that it belongs to, and what was found then is used again: a chain may
    have thousands.
    """
    found: dict[frozenset[str], dict[str, Operand]] = {}
    blocks = [instruction.then]
    rest = instruction.orelse
    behind: dict[frozenset[str], dict[str, Operand]] | None = None
    while behind is None and rest and isinstance(last := rest[-1], ir.If):
        behind = frame.moved_in_branches.get(last.span)
        if behind is None:
            blocks.append(last.then)
            rest = last.orelse
    for block in blocks if behind is not None else (*blocks, rest):
        moved = _moved_in(frame, block)
        if moved:
            found.setdefault(frozenset(moved), moved)
    for names, moved in (behind or {}).items():
        found.setdefault(names, moved)
    frame.moved_in_branches[instruction.span] = found
    return found


def _moved_in(frame: Frame, block: ir.Block) -> dict[str, Operand]:
    """The names that a block itself has moved, each as its move has left it."""
    loads = {item.target: item.name for item in block if isinstance(item, ir.Load)}
    methods = {item.target: item for item in block if isinstance(item, ir.Attribute) and item.name in MOVES}
    calls = {item.target: item for item in block if isinstance(item, ir.Call) and item.function in methods}
    found = {}
    for item in block:
        call = calls.get(item.source) if isinstance(item, ir.Store) else None
        if isinstance(item, ir.Store) and call is not None:
            side = _moved(frame, frame.registers[call.target])
            if side is not None and loads.get(methods[call.function].base) == item.name:
                found[item.name] = side
    return found


def note_meeting(frame: Frame, left: Value, right: Value, met: Opaque, name: str, test: ir.Span) -> None:
    """Notes that one of two paths has moved what is `met` from here on and has a name, unless that is moved later.

    On the other one it is a part of an object, and another thing than what was moved.
    """
    for one, other in ((left, right), (right, left)):
        side = _moved(frame, one)
        if side is None or side.origin is None or not isinstance(other, Opaque) or _moved(frame, other) is not None:
            continue
        if _is_part(other.path) and not (isinstance(one, Opaque) and one.path.is_within(other.path)):
            is_own = frame.owner is not None and other.path.root == frame.owner.name
            path = other.path.rooted_at(SELF) if is_own else other.path
            there = Operand(str(path), UNKNOWN_DEVICE, None, test, other.origin, file=frame.file)
            frame.partial[met.path] = (replace(side, name=name), there)


def _is_part(path: AccessPath) -> bool:
    """Whether a place is that of a part of an object; what `self` itself holds is where it has put it."""
    if path.is_fresh or not path.steps or path.steps[-1].kind is StepKind.CALL:
        return False
    return not (path.is_of_self and len(path.steps) == 1)


def note_moved(frame: Frame, value: Opaque, target: DeviceValue | None, *, named: bool) -> None:
    """Forgets what has been noted of a value, which is moved on all paths after all; `named`: by `device=`.

    What else `to` is given, and is no device as far as is known, is a dtype.
    """
    if named or (target is not None and target.device != UNKNOWN_DEVICE):
        frame.partial.pop(value.path, None)


def record(frame: Frame) -> None:
    """Records what has been noted of this execution and nothing has taken back."""
    for one, other in frame.partial.values():
        _record(frame, one, other)


def note_collected(frame: Frame, env: Environment, given: ArgumentValue, collection: ObjectId) -> None:
    """Notes that a turn of a loop appends a tensor to one list as it is, and to another one what came from its device.

    That one was copied to the CPU before.
    """
    value = given.value
    if not frame.loops or env.fallback or not isinstance(value, Tensor) or value.rank == 0:
        return
    collected = frame.loops[-1].collected
    for other, there, span in collected:
        if there == collection:
            continue
        for (mine, here), (theirs, beside) in permutations(((value, given.span), (other, span))):
            if _is_offloaded_from(mine, theirs.device):
                fact = PartialOffload(_collected(frame, mine, here), _collected(frame, theirs, beside))
                frame.record(beside, fact)
    collected.append((value, collection, given.span))


def _is_offloaded_from(value: Tensor, device: Device) -> bool:
    made = value.origin
    return (
        value.device == CPU
        and is_symbolic(device)
        and made is not None
        and made.kind is OriginKind.MOVED
        and made.left == device
    )


def _collected(frame: Frame, value: Tensor, span: ir.Span) -> Meeting:
    side = Operand(frame.text(span), value.device, value.rank, span, value.origin, file=frame.file)
    return operands.meeting(frame, side)


def _moved(frame: Frame, value: Value) -> Operand | None:
    """A value that this file has moved to an accelerator, or to a device that is chosen elsewhere."""
    if not isinstance(value, (Tensor, Opaque)) or value.origin is None or value.origin.file != frame.file:
        return None
    if value.origin.kind is not OriginKind.MOVED or not (
        is_symbolic(value.device) or operands.is_accelerator(value.device)
    ):
        return None
    span = value.origin.span
    return Operand(frame.text(span), value.device, None, span, value.origin, file=frame.file)


def _record(frame: Frame, one: Operand, other: Operand) -> None:
    both = other.origin is not None and other.origin.kind is OriginKind.MOVED
    fact = PartialMove(operands.meeting(frame, one), operands.meeting(frame, other), both)
    frame.record(one.span, fact)
