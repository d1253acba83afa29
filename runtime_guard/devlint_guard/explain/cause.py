"""The cause of an error: the last recorded event that put the very tensor, which the operator refused, where it is.

A store in a module that comes after the last move of the module is told instead: the move could not reach what was not
there yet.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

import torch
from torch import nn

from devlint_guard.finding import Step
from devlint_guard.program import naming
from devlint_guard.program.stored import registered_in, shares_memory
from devlint_guard.record.recorder import RECORD
from devlint_guard.record.stacks import Entry, Event, Kind


@dataclass(frozen=True, slots=True)
class Cause:
    """What put a tensor where it is.

    Attributes:
        tensor: it.
        wanted: where it is needed.
        event: the event that decided its device.
        store: the later store in a module that had moved before, and the last move of that module.
        keep: where the program kept the tensor in an object.
        copy: a copy of the tensor on the device where it is needed, which the failing line does not read.
        met: the event of the value that it meets, where that was put there on purpose.
        chain: the modules that hold it; empty if none does.
    """

    tensor: torch.Tensor
    wanted: str
    event: Event
    store: tuple[Event, Event] | None
    keep: Event | None
    copy: Event | None
    met: Event | None
    chain: naming.Chain

    @property
    def is_registered(self) -> bool:
        """Whether a module holds it as a parameter or buffer, so that it moves with the module."""
        return bool(self.chain) and self.chain[-1][2]

    @property
    def was_left(self) -> bool:
        """Whether the module that registers it was made there and never moved."""
        return self.is_registered and self.event.kind is Kind.CREATED and self.store is None

    @property
    def made(self) -> Entry:
        """The line of the user's that made it; of a part of a module, the line that made the outermost module."""
        outside = (one for one in self.event.stack if one.code.co_name != "__init__")
        return next(outside, self.event.stack[0]) if self.was_left else self.event.stack[0]

    @property
    def steps(self) -> tuple[Step, ...]:
        """What a report tells of it, the oldest first."""
        return tuple(_steps(self))


def cause_of(
    tensor: torch.Tensor,
    wanted: str,
    other: torch.Tensor | None,
    roots: naming.Roots,
    keeper: torch.Tensor | None = None,
) -> Cause | None:
    """The cause, as recorded; None for a tensor without a record.

    Args:
        tensor: it.
        wanted: the device where it is needed.
        other: the value that it meets there.
        roots: modules that may hold it.
        keeper: the tensor that the failing line takes it from, if that is another one.
    """
    chain = naming.chain_to(tensor, roots) or (() if keeper is None else naming.chain_to(keeper, roots))
    own = RECORD.of(tensor) or _put_there(tensor, chain)
    if own is None or not own.root.stack or own.root.after not in (None, tensor.device):
        return None
    event, copy = own.root, RECORD.copies.of(tensor)
    is_copied = copy is not None and copy.source is own and str(copy.after) == wanted and bool(copy.stack)
    met = RECORD.of(other) if other is not None and event.kind is Kind.CREATED else None
    is_meant = met is not None and met.stack and met.kind in (Kind.MOVED, Kind.CREATED) and str(met.after) == wanted
    store, keep = _stored_late(chain, wanted, event), RECORD.keep_of(tensor)
    keep = RECORD.keep_of(keeper) if keep is None and keeper is not None else keep
    return Cause(tensor, wanted, event, store, keep, copy if is_copied else None, met if is_meant else None, chain)


def _put_there(tensor: torch.Tensor, chain: naming.Chain) -> Event | None:
    """The store of a tensor that was computed while no mode recorded, as if it were made there."""
    store = RECORD.store_of(*chain[-1][:2]) if chain else RECORD.keep_of(tensor)
    if store is None:
        return None
    made = Event(Kind.CREATED, store.by, store.stack, after=tensor.device)
    made.number = store.number
    return made


def _stored_late(chain: naming.Chain, wanted: str, event: Event) -> tuple[Event, Event] | None:
    """The store that came after the last move of its owner, and that move."""
    for owner, name, is_registered in chain:
        store, moves = RECORD.store_of(owner, name), RECORD.moves_of(owner)
        if store is None or not is_registered or not store.stack:
            continue
        before = [one for one in moves if one.number < store.number]
        is_moved_since = event.kind in (Kind.MOVED, Kind.MODULE) and event.number > store.number
        if before and str(before[-1].after) == wanted and not is_moved_since:
            return store, before[-1]
    return None


def device_given(call: ast.Call) -> ast.expr | None:
    """The device that a factory or a move is given; None if it is given none."""
    told = next((one.value for one in call.keywords if one.arg == "device"), None)
    is_move = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    return told if told is not None or not is_move else next(iter(call.args), None)


def tensor_on(value: object, device: str) -> torch.Tensor | None:
    """The very tensor that an operator, or numpy, refused: a value, the last operand, or a part of a module.

    Args:
        value: the tensor, or an object that has it; UNKNOWN for a value that is gone.
        device: where the tensor is; of any number where only the type of the device is told.
    """
    if isinstance(value, torch.Tensor) and str(value.device) == device:
        return value
    refused = [one for one in RECORD.refused if device in (str(one.device), one.device.type)]
    if isinstance(value, nn.Module):
        own = [one for one in registered_in(value) if str(one.device) == device]
        return next(iter([*(one for one in own if any(shares_memory(one, other) for other in refused)), *own]), None)
    return refused[0] if refused else None


def history_of(tensor: torch.Tensor) -> tuple[Step, ...]:
    """The steps of a tensor's recorded cause; empty for a tensor without a record."""
    cause = cause_of(tensor, "", None, {})
    return () if cause is None else cause.steps


def default_steps() -> tuple[Step, ...]:
    """What set the default device, if something did."""
    event = RECORD.default
    return () if event is None else said_of(event, f"draws under the default device {event.after}, which", " sets")


# --- in words -----------------------------------------------------------------------------------------------


def said_of(event: Event, before: str, after: str = "") -> tuple[Step, ...]:
    """What a report tells of the user's line where something happened; nothing where that line is not known."""
    entry = event.stack[0] if event.stack else None
    return () if entry is None else (Step(f"{before} `{entry.text}`{after}", entry.place),)


def _steps(cause: Cause) -> list[Step]:
    if cause.store is not None:
        store, applied = cause.store
        moved = f" ({applied.stack[0].place.file}:{applied.stack[0].line})" if applied.stack else ""
        told = f"is put in by `{_statement(store.stack[0])}`, after its module had moved to {applied.after}{moved}"
        return [Step(told, store.stack[0].place)]
    steps = [Step(_told(cause), cause.made.place)]
    made, own = cause.event.source, RECORD.of(cause.tensor)
    if cause.event.kind is Kind.BATCH and made is not None and cause.tensor.device.type != "cpu":
        what = "moved to" if made.kind is Kind.MOVED else "created on"
        steps += said_of(made, f"has parts that are {what} {made.after} by")
    if own is not None and own is not cause.event:
        steps += said_of(own, "takes its device there:")
    if cause.keep is not None and cause.keep.stack and cause.keep.stack[0].line != cause.made.line:
        steps.append(Step(f"is kept by `{_statement(cause.keep.stack[0])}`", cause.keep.stack[0].place))
    if cause.copy is not None:
        steps += said_of(cause.copy, f"is copied to {cause.copy.after} by", ", but this line does not read that copy")
    if cause.met is not None and cause.met is not cause.copy:
        what = "is moved to" if cause.met.kind is Kind.MOVED else "is created on"
        steps += said_of(cause.met, f"meets a value that {what} {cause.met.after} by")
    return steps


def _told(cause: Cause) -> str:
    event, text, device = cause.event, cause.made.text, _named(cause.event.after)
    shown = f"`{text}`" if text else event.by
    if cause.was_left:
        return f"is part of what {shown} makes on {device}, and is never moved"
    if event.kind is Kind.MOVED and event.before == event.after:
        return f"is left on {device} by {shown}"
    if event.kind is Kind.MOVED:
        return f"is moved from {_named(event.before)} to {device} by {shown}"
    if event.kind is Kind.MODULE:
        return f"is moved to {device}, with its module, by {shown}"
    if event.kind is Kind.LOADED:
        return f"is loaded by {shown}"
    if event.kind is Kind.BATCH:
        return "is of a batch that the DataLoader gives"
    return f"is created on {device} by {shown}"


def _named(device: object) -> str:
    return "the CPU" if str(device) == "cpu" else str(device)


def _statement(entry: Entry) -> str:
    statement, source = entry.statement, entry.source
    if statement is None or source is None or isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        return entry.text
    return source.of(statement)[:70]
