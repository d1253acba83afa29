"""How the rules put facts into words, so that all of them name a value, a device and a remedy alike."""

from __future__ import annotations

import re
from collections.abc import Iterable

from devlint.diagnostics import Label, Related
from devlint.domain.device import CPU, Concrete, Device, Variable
from devlint.facts import Conflict, Meeting, Step, UncheckedDevice

_PLACE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_LONGEST = 60


def quoted(text: str) -> str:
    """Source text in backquotes, on one line and cut where it gets long."""
    line = " ".join(text.split())
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    return f"`{line}`"


def in_words(device: Device) -> str:
    """A device as it reads in a sentence: `cuda:0`, or "the device of `x`"."""
    if isinstance(device, Variable):
        return f"the device of {quoted(device.place)}"
    return str(device)


def on_two_devices(conflict: Conflict) -> str:
    """The sentence that says which two values an operation finds on which two devices."""
    first, second = conflict.first, conflict.second
    if isinstance(second.device, Variable) and not isinstance(first.device, Variable):
        first, second = second, first
    operation = quoted(conflict.operation.removesuffix(".__call__"))
    if isinstance(first.device, Variable) and first.device.place == first.name:
        where = in_words(first.device)
        return f"{quoted(second.name)} is on {in_words(second.device)}, {operation} needs it on {where}"
    told = f"{quoted(first.name)} is on {in_words(first.device)}"
    return f"{told} and {quoted(second.name)} on {in_words(second.device)}: {operation} needs one device"


def labels(conflict: Conflict) -> tuple[Label, ...]:
    """Both operands, labelled with their devices, in reading order."""
    sides = sorted((conflict.first, conflict.second), key=lambda side: side.place)
    return tuple(Label(side.place, in_words(side.device)) for side in sides)


def story(steps: Iterable[Step]) -> tuple[Related, ...]:
    """The steps of a trace as related places."""
    return tuple(Related(step.place, step.what) for step in steps)


def both_stories(conflict: Conflict) -> tuple[Related, ...]:
    """How the first value got its device, how the second did, and the calls in between; each place once."""
    steps = (*conflict.first.trace, *conflict.second.trace, *conflict.via)
    return tuple(dict.fromkeys(story(steps)))


def bring_together(conflict: Conflict) -> str:
    """The change that puts both values on one device, in the imperative."""
    stray, settled = _stray_and_settled(conflict)
    name, target = stray.name, _target(conflict, settled)
    if _is_called_module(conflict, stray):
        return f"move the module once, before it is used: {quoted(f'{name}.to({target})')}"
    if stray.born == "module":
        return f"move the module that owns {quoted(name)}: {quoted(f'module.to({target})')}"
    if stray.born == "created":
        return _create_there(name, target)
    if not _is_place(name):
        return f"move {quoted(name)} with {quoted(f'.to({target})')}"
    move = quoted(f"{name} = {name}.to({target})")
    if stray.born == "loader":
        return f"move the batch before it is used: {move}"
    if stray.born == "host":
        return f"what comes from the host starts on the cpu, move it: {move}"
    if stray.born == "moved":
        return f"move it to where it is used: {move}"
    return f"move it first: {move}"


def _create_there(name: str, target: str) -> str:
    if name.startswith("self.") and name.count(".") == 1 and _is_place(name):
        attribute = name.removeprefix("self.")
        call = quoted(f'self.register_buffer("{attribute}", …)')
        move = quoted(f"{name}.to({target})")
        return f"register it, so that it moves with its module: {call}; or use {move}"
    if _is_place(name):
        return f"create {quoted(name)} with {quoted(f'device={target}')}"
    return f"pass {quoted(f'device={target}')} to {quoted(name)}"


def _stray_and_settled(conflict: Conflict) -> tuple[Meeting, Meeting]:
    """The value to move, and the one to follow: what is on the CPU moves, else what comes second."""
    first, second = conflict.first, conflict.second
    if first.device == CPU and second.device != CPU:
        return first, second
    return second, first


def _target(conflict: Conflict, settled: Meeting) -> str:
    """Source text for the device of a value, without writing a concrete device into somebody's program."""
    if _is_place(settled.name) and not _is_called_module(conflict, settled):
        return f"{settled.name}.device"
    if isinstance(settled.device, Variable) and settled.born == "parameter":
        return f"{settled.device.place}.device"
    return "device"


def _is_called_module(conflict: Conflict, side: Meeting) -> bool:
    """Whether that side is the module that is called; unlike a tensor, a module has no attribute `device`."""
    if side is not conflict.first:
        return False
    return conflict.kind == "module-input" or (
        conflict.operation.endswith(".__call__") and side.born == "module"
    )


def _is_place(text: str) -> bool:
    return _PLACE.fullmatch(text) is not None


def keep_the_result(name: str, method: str, device: Device) -> str:
    """The assignment that keeps what a move returns."""
    if method != "to":
        call = f"{name} = {name}.{method}()"
    elif isinstance(device, Concrete):
        call = f'{name} = {name}.to("{device}")'
    else:
        call = f"{name} = {name}.to(…)"
    return f"keep the result: {quoted(call)}"


def index_of(device: Device) -> int | None:
    """The index of a device, if it has one as it was written."""
    return device.index if isinstance(device, Concrete) else None


def used_here(unchecked: UncheckedDevice) -> tuple[Related, ...]:
    """Where a device that was written down earlier is first used, if that is another place."""
    if unchecked.use is None:
        return ()
    what = f"{unchecked.receiver} uses it here" if unchecked.receiver else "it is used here"
    return (Related(unchecked.use, what),)
