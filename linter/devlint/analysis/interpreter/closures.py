"""What an inner function reads from the functions around it, and what it finds there if nobody is seen to call it.

    model = Net().cuda()

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate():
        return model(torch.ones(3))

A library calls `evaluate` at some time. `model` is then what it is where `evaluate` is defined, if it is still the same
at the end of the body around it, and no inner function moves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index.later_moves import moved_names
from devlint.domain.environment import Environment
from devlint.domain.heap import Object, held_by
from devlint.domain.value import MaybeNone, ObjectId, Reference, TupleValue, Value
from devlint.frontend.ir import Function


def closed_over(frame: Frame, function: Function, names: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Those of some names around a function that it reads, with their values."""
    read = frame.program.free_names(frame.file, function)
    return tuple((name, value) for name, value in names.items() if name in read)


def objects_read(env: Environment, enclosing: Iterable[tuple[str, Value]]) -> dict[ObjectId, Object]:
    """The objects that the names around a function stand for, and those that these hold."""
    found: dict[ObjectId, Object] = {}
    pending = [value for _, value in enclosing]
    while pending:
        match pending.pop():
            case Reference(identity) if identity not in found:
                held = env.heap.get(identity)
                if held is not None:
                    found[identity] = held
                    pending.extend(held_by(held))
            case TupleValue(items):
                pending.extend(items)
            case MaybeNone(present):
                pending.append(present)
            case _:
                pass
    return found


def settle(frame: Frame) -> None:
    """Hands on, at the end of a body, what its inner functions find whenever they are called."""
    if not frame.captured:
        return
    moved = set().union(*map(moved_names, frame.made))
    after = frame.returned
    for function, objects in frame.captured.items():
        stays = after is not None and moved.isdisjoint(frame.program.free_names(frame.file, function))
        same = {one: held for one, held in objects.items() if stays and after and after.heap.get(one) == held}
        frame.program.note_captured(frame.file, function, same)
