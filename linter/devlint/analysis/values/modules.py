"""What modules hold, where it is, and how it changes place with its module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.domain.device import UNKNOWN_DEVICE, UNREACHED, Device, UnknownDevice, Unreached, join
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Heap, Instance, LibraryObject, ListObject
from devlint.domain.kinds import TensorRole
from devlint.domain.place import AccessPath, Fresh
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    UNKNOWN,
    DeviceValue,
    Kind,
    MaybeNone,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    Value,
    present,
)
from devlint.torchlib.knowledge import MODULE


def is_module_class(frame: Frame, name: str) -> bool:
    """Whether a library class is a module class of the catalogue."""
    return any(entry.name == MODULE for entry in frame.program.catalogue.lineage(name))


def place_object(
    frame: Frame,
    env: Environment,
    value: Reference,
    device: Device,
    origin: Origin | None,
    seen: set[ObjectId] | None = None,
) -> None:
    """Puts everything registered in a module on a device; objects in `seen` are there already."""
    seen = set() if seen is None else seen
    pending: list[Value] = [value]
    while pending:
        item = present(pending.pop())
        if not isinstance(item, Reference) or item.object in seen:
            continue
        seen.add(item.object)
        held = env.heap.get(item.object)
        match held:
            case LibraryObject():
                # Without state there is nothing to move; where that is not known, neither is the device.
                parts = tuple((name, _put(name, part, device, origin)) for name, part in held.parts)
                if not isinstance(held.device, (Unreached, UnknownDevice)):
                    held = replace(held, device=device, origin=origin)
                env.heap[item.object] = replace(held, parts=parts)
                pending.extend(part for _, part in held.parts)
            case Instance() if classes.is_module(held.cls):
                attributes: list[tuple[str, Value]] = []
                unregistered: list[Value] = []
                moved: dict[Origin, Value] = {}
                for name, stored in held.attributes:
                    if name in held.registered:
                        pending.append(stored)
                        before, stored = stored, _put(name, stored, device, origin)
                        note_moved(moved, before, stored)
                    elif name == "device" and classes.knows_device(held.cls):
                        stored = DeviceValue(device, True)
                    elif classes.moves_itself(held.cls):
                        unregistered.append(stored)
                        stored = UNKNOWN if isinstance(stored, Tensor) else stored
                    attributes.append((name, stored))
                share_parameters(env.heap, held, moved)
                env.heap[item.object] = replace(held, attributes=tuple(attributes), moved=(device, origin))
                may_move(frame, env, unregistered, seen)
            case ListObject() if held.module is not None:
                pending.extend(held.items if held.items is not None else (held.rest,))
                items = None if held.items is None else tuple(_put("element", it, device, origin) for it in held.items)
                env.heap[item.object] = replace(held, items=items, rest=_put("element", held.rest, device, origin))
            case DictObject() if held.module is not None:
                pending.extend((*(part for _, part in held.items), held.rest))
                pairs = tuple((key, _put(f"{key}", part, device, origin)) for key, part in held.items)
                env.heap[item.object] = replace(held, items=pairs, rest=_put("element", held.rest, device, origin))
            case _:
                pass


def may_move(frame: Frame, env: Environment, values: Iterable[Value], seen: set[ObjectId]) -> None:
    """Forgets the devices of unregistered values of a module, and of their contents: its class may move them."""
    pending = list(values)
    while pending:
        item = present(pending.pop())
        if not isinstance(item, Reference) or item.object in seen:
            continue
        held = env.heap.get(item.object)
        if is_module(frame, env, item):
            place_object(frame, env, item, UNKNOWN_DEVICE, None, seen)
            continue
        seen.add(item.object)
        if isinstance(held, ListObject):
            pending.extend(held.items if held.items is not None else (held.rest,))
            items = None if held.items is None else tuple(map(_anywhere, held.items))
            env.heap[item.object] = replace(held, items=items, rest=_anywhere(held.rest))
        elif isinstance(held, DictObject):
            pending.extend((*(part for _, part in held.items), held.rest))
            pairs = tuple((key, _anywhere(part)) for key, part in held.items)
            env.heap[item.object] = replace(held, items=pairs, rest=_anywhere(held.rest))


def _anywhere(value: Value) -> Value:
    return UNKNOWN if isinstance(present(value), (Tensor, Opaque)) else value


def note_moved(moved: dict[Origin, Value], before: Value, after: Value) -> None:
    """Notes what a registered tensor is after a move of its module, by how it came to be."""
    was, becomes = present(before), present(after)
    if isinstance(was, Tensor) and was.origin is not None and becomes is not None:
        moved[was.origin] = becomes


def share_parameters(heap: Heap, module: Instance, moved: Mapping[Origin, Value]) -> None:
    """Gives plain objects that a module holds the parameters that it has registered as they are after a move.

    A move of a module changes its parameters in place, so that who else holds one has it there. `moved` has them by
    how they came to be.
    """
    for name, value in module.attributes if moved else ():
        held = heap.get(value.object) if isinstance(value, Reference) and name not in module.registered else None
        if isinstance(held, Instance) and isinstance(value, Reference) and not classes.is_module(held.cls):
            shared = ((key, _as_moved(part, moved)) for key, part in held.attributes)
            heap[value.object] = replace(held, attributes=tuple(shared))


def _as_moved(value: Value, moved: Mapping[Origin, Value]) -> Value:
    if isinstance(value, Tensor) and value.role is TensorRole.PARAMETER and value.origin is not None:
        return moved.get(value.origin, value)
    return value


def _put(name: str, part: Value, device: Device, origin: Origin | None) -> Value:
    """A part of a module after its move; other modules are moved in the heap.

    What nobody knows has moved, too, if it is anything that moves.
    """
    if isinstance(part, MaybeNone):
        return MaybeNone(_put(name, part.present, device, origin))
    if part == UNKNOWN and device != UNKNOWN_DEVICE:
        made = () if origin is None else (origin.span.line, origin.span.column)
        return Opaque(AccessPath(Fresh(name, made)), Kind.MOVABLE, device, origin)
    return replace(part, device=device, origin=origin) if isinstance(part, (Tensor, Opaque)) else part


def is_module(frame: Frame, env: Environment, value: Value) -> bool:
    """Whether the value is certainly a module."""
    if isinstance(value, Opaque):
        return frame.kind(value) is Kind.MODULE
    if not isinstance(value, Reference):
        return False
    match env.heap.get(value.object):
        case LibraryObject(cls=cls):
            return is_module_class(frame, cls)
        case Instance(cls=cls):
            return classes.is_module(cls)
        case ListObject(module=module) | DictObject(module=module):
            return module is not None
        case _:
            return False


def state(
    frame: Frame, env: Environment, value: Value, *, buffers: bool = True
) -> Iterator[tuple[Device, Origin | None]]:
    """The devices of a module's parameters and, if asked for, buffers, with why they are there."""
    seen = set()
    pending = [value]
    while pending:
        item = pending.pop()
        match item:
            case Tensor(role=TensorRole.PARAMETER):
                yield item.device, item.origin
            case Tensor(role=TensorRole.BUFFER) if buffers:
                yield item.device, item.origin
            case Opaque():
                yield item.device, item.origin
            case MaybeNone():
                pending.append(item.present)
            case Reference() if item.object not in seen:
                seen.add(item.object)
                match env.heap.get(item.object):
                    case LibraryObject() as held:
                        if not isinstance(held.device, Unreached):
                            yield held.device, held.origin
                        pending.extend(part for _, part in reversed(held.parts))
                    case Instance() as held:
                        registered = [stored for name, stored in held.attributes if name in held.registered]
                        # Its own parameters come before those of its parts, as in `named_parameters()`.
                        registered.sort(key=lambda stored: not isinstance(present(stored), Tensor))
                        pending.extend(reversed(registered))
                        if held.open:
                            yield (held.moved or (UNKNOWN_DEVICE, None))
                    case ListObject(module=str()) as held:
                        pending.extend(reversed(held.items) if held.items is not None else (held.rest,))
                    case DictObject(module=str()) as held:
                        pending.extend(part for _, part in reversed(held.items))
                        if not held.complete:
                            pending.append(held.rest)
                    case _:
                        pass
            case _ if item == UNKNOWN:
                yield UNKNOWN_DEVICE, None
            case _:
                pass


def module_device(frame: Frame, env: Environment, value: Value) -> tuple[Device, Origin | None]:
    """The one device of a module's state; Unreached without any, Unknown if there are several."""
    device: Device = UNREACHED
    origin: Origin | None = None
    for found, why in state(frame, env, value):
        if isinstance(device, Unreached):
            origin = why
        device = join(device, found)
    return device, origin


def device_of_whole(frame: Frame, env: Environment, value: Value) -> Device:
    """Where a module is, or where it was moved if none of its parts is known to be on a device."""
    if not is_module(frame, env, value):
        return UNKNOWN_DEVICE
    device, _ = module_device(frame, env, value)
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    if isinstance(device, Unreached) and isinstance(held, Instance) and held.moved is not None:
        return held.moved[0]
    return device


def device_of_unknown_parts(frame: Frame, env: Environment, value: Value) -> Device:
    """The device of the unknown parts of a module: the last move of the module has put them there."""
    moved = last_move(env, value)
    return device_of_whole(frame, env, value) if moved is None else moved[0]


def last_move(env: Environment, value: Value) -> tuple[Device, Origin | None] | None:
    """The device of the last move of the whole module, with the reason; None if no move is known."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    return held.moved if isinstance(held, Instance) else None
