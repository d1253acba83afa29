"""How the rules put facts into words, so that all of them name a value, a device and a remedy alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from devlint.diagnostics import Label, Place, Related
from devlint.domain.device import Concrete, Device, Variable, in_words, is_symbolic, quoted, variables_of
from devlint.facts import Conflict, ConflictKind, Meeting, Step, UncheckedDevice

__all__ = [
    "ASSIGNED",
    "ELSEWHERE",
    "LEADS_THERE",
    "SELECTED",
    "both_stories",
    "in_words",
    "index_of",
    "labels",
    "on_two_devices",
    "quoted",
    "reading",
    "story",
    "used_here",
]

SELECTED = "[…]"
ASSIGNED = "[…] ="
"""How the facts call reading and assigning a subscript of a tensor."""

_NEEDS = "needs both on the same device"
"""What an operation needs of its two operands."""

ELSEWHERE = "may be on another device"
"""What a message says of a value where only the caller knows more."""

_WITHOUT_GENERATOR = "without `generator=`"
"""How the trace of a generator begins that no code of the program creates."""

_CREATED = "created on "
"""How the step of a trace begins in which a call creates a tensor."""

_ON_CPU = (ConflictKind.HOST, ConflictKind.CPU_ARGUMENT)
"""The kinds of conflicts in which an operation takes a value from the CPU only."""

LEADS_THERE = "this call leads there"
"""The label of a reported call that leads to the operation, where none of the two values stands at the call."""


def on_two_devices(conflict: Conflict) -> str:
    """The sentence that says which two values an operation finds on which two devices."""
    match conflict.kind:
        case ConflictKind.INDEX:
            return _of_index(conflict)
        case ConflictKind.GENERATOR:
            return _of_generator(conflict)
        case ConflictKind.HOST | ConflictKind.CPU_ARGUMENT:
            return _wanted_on_cpu(conflict)
        case _:
            return _of_operands(conflict)


def _of_operands(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    if is_symbolic(second.device) and not is_symbolic(first.device):
        first, second = second, first
    operation = _operation(conflict)
    if _names_its_device(first):
        where = in_words(first.device)
        return f"{quoted(second.name)} is on {in_words(second.device)}, but {operation} needs it on {where}"
    told = f"{quoted(first.name)} is on {in_words(first.device)}"
    if conflict.kind is ConflictKind.MODULE_INPUT or conflict.operation == first.name:  # a module is called by its name
        return f"{told} and its input {quoted(second.name)} on {in_words(second.device)}"
    name, where = quoted(second.name), in_words(second.device)
    if is_symbolic(first.device) and not _is_named_device(first):  # "the device of `x` and `y`" would be one device
        return f"{told}, but {name} is on {where}: {operation} {_NEEDS}"
    return f"{told} and {name} on {where}: {operation} {_NEEDS}"


def _is_named_device(side: Meeting) -> bool:
    """Whether the device of a value has a name of its own, as `device` is one."""
    return all(variable.names_device for variable in variables_of(side.device))


def _of_index(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    told = f"{quoted(first.name)} is on {in_words(first.device)}"
    where = in_words(second.device)
    if conflict.operation == ASSIGNED:
        value = f"{quoted(second.name)} on {where}"
        return f"{told} and {value}: an assignment by index does not move the value to the other device"
    if conflict.operation == SELECTED:
        if _names_its_device(second):
            return f"{quoted(second.name)} {ELSEWHERE}, but it indexes {quoted(first.name)} on {in_words(first.device)}"
        return f"{quoted(second.name)} on {where} cannot index {quoted(first.name)} on {in_words(first.device)}"
    return f"{told} and its index {quoted(second.name)} on {where}: {_operation(conflict)} {_NEEDS}"


def _of_generator(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    return f"{_operation(conflict)} {_draws(first)}, but {_generator(second)} is on {in_words(second.device)}"


def _generator(side: Meeting) -> str:
    """The generator in words: one that no code of the program creates has no name there."""
    return "its default generator" if _is_default(side) else f"its generator {quoted(side.name)}"


def _is_default(generator: Meeting) -> bool:
    return any(step.what.startswith(_WITHOUT_GENERATOR) for step in generator.trace)


def _draws(side: Meeting) -> str:
    return f"draws numbers on {in_words(side.device)}"


def _wanted_on_cpu(conflict: Conflict) -> str:
    value, operation, cpu = conflict.first, _operation(conflict), in_words(conflict.second.device)
    if _names_its_device(value):
        return f"{quoted(value.name)} {ELSEWHERE}, but {operation} needs it on {cpu}"
    if is_symbolic(value.device) and not _is_named_device(value):
        return f"{quoted(value.name)} {ELSEWHERE} ({in_words(value.device)}), but {operation} needs it on {cpu}"
    return f"{quoted(value.name)} is on {in_words(value.device)}, but {operation} needs it on {cpu}"


def _names_its_device(side: Meeting) -> bool:
    """Whether a value is what its device is named after, so that one name is enough."""
    if not isinstance(side.device, Variable):
        return False
    if side.device.place.is_made_at(side.place.line, side.place.column - 1):
        return True  # the result of a call, at the place of this call
    names = (side.device.place.source, side.device.owner)
    return side.name.replace("'", '"') in [name.replace("'", '"') for name in names]


def labels(conflict: Conflict) -> tuple[Label, ...]:
    """Both operands, labelled with their devices, in reading order."""
    sides = sorted((conflict.first, conflict.second, *conflict.others), key=lambda side: side.place)
    return tuple(dict.fromkeys(Label(_labelled(conflict, side), _label(conflict, side)) for side in sides))


def _labelled(conflict: Conflict, side: Meeting) -> Place:
    """The place to underline for a value: of `x.numpy()`, which takes `x` from the CPU only, the part behind `x`."""
    value = conflict.first.place
    begins_with_value = (value.file, value.line, value.column) == (side.place.file, side.place.line, side.place.column)
    is_short = value.end_line == side.place.end_line and value.end_column + 1 < side.place.end_column
    if conflict.kind not in _ON_CPU or side is conflict.first or not (begins_with_value and is_short):
        return side.place
    return replace(side.place, line=value.end_line, column=value.end_column + 1)  # behind the dot


def _label(conflict: Conflict, side: Meeting) -> str:
    """What a value is labelled with, in the words of the message."""
    is_first = side is conflict.first
    if conflict.kind in _ON_CPU and not is_first:
        return f"{_operation(conflict)} needs it on {in_words(side.device)}"
    if conflict.kind is ConflictKind.GENERATOR:
        where = f"is on {in_words(side.device)}"
        return _draws(side) if is_first else f"its default generator {where}" if _is_default(side) else where
    if conflict.kind is ConflictKind.INDEX and conflict.operation == SELECTED and not is_first:
        return ELSEWHERE if _names_its_device(side) else in_words(side.device)
    if is_first and conflict.kind in _ON_CPU and _names_its_device(side):
        return ELSEWHERE
    return in_words(side.device)


def story(steps: Sequence[Step], value: str = "") -> tuple[Related, ...]:
    """The steps of a value's trace as related places; of two in a row at one place, the later says it all."""
    following = [*(step.place for step in steps[1:]), None] if steps else []
    return tuple(
        Related(step.place, step.what, value)
        for step, next_place in zip(steps, following, strict=True)
        if step.place != next_place
    )


def both_stories(conflict: Conflict) -> tuple[Related, ...]:
    """Return the steps of both values, the operation, and the call that decides, each step once."""
    called = quoted(conflict.operation) + " is called here"
    meets = f"{_operation(conflict)} {_NEEDS} here"
    if conflict.kind is ConflictKind.MODULE_INPUT:
        meets = f"{_operation(conflict)} needs its input on the device of its parameters here"
        if not conflict.operation.rpartition(".")[2].isidentifier():  # an operator in the code of the module
            module = quoted(conflict.first.name)
            meets = (
                f"{_operation(conflict)} needs the input of {module} on the device of the parameters of {module} here"
            )
    elif conflict.kind in _ON_CPU:
        meets = f"{_operation(conflict)} needs a value on cpu here"
    via = tuple(Step(step.place, meets if step.what == called else step.what) for step in conflict.via)
    every = (conflict.first, conflict.second, *conflict.others)
    sides = [step for side in every for step in story(_trace(conflict, side), side.name)]
    told: dict[tuple[Place, str], Related] = {}
    witness = () if conflict.witness is None else (conflict.witness,)
    for step in (*sides, *story(via), *story(witness)):
        told.setdefault((step.place, step.message), step)
    return tuple(told.values())


def _trace(conflict: Conflict, side: Meeting) -> Sequence[Step]:
    """The steps of a value; that an operation creates the random numbers that it draws, its report says already."""
    if conflict.kind is not ConflictKind.GENERATOR or side is not conflict.first:
        return side.trace
    return [step for step in side.trace if not step.what.startswith(_CREATED)]


def _operation(conflict: Conflict) -> str:
    return quoted(conflict.operation.removesuffix(".__call__"))


def index_of(device: Device) -> int | None:
    """The index of a device, if it has one as it was written."""
    return device.index if isinstance(device, Concrete) else None


def reading(text: str, how: str) -> str:
    """How a program reads a tensor: `loss.item()`, `float(loss)`, or "testing `loss > 1`"."""
    if not how:
        return quoted(text)
    return f"{how} {quoted(text)}" if how.endswith("ing") else quoted(f"{how}({text})")


def used_here(unchecked: UncheckedDevice, written: Place) -> tuple[Related, ...]:
    """Where a device that was written down earlier is first used, if that is another place."""
    use = unchecked.use
    if use is None or (use.file, use.line) == (written.file, written.line):
        return ()
    return (Related(use, f"{quoted(unchecked.text)} is used here"),)
