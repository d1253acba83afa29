"""What a module holds and does not register: modules and parameters in plain lists, tuples and dicts.

`nn.Module` registers what is stored in an attribute of its own, not what is inside a list there. Moving the module
moves what it has registered, so the members of such a list stay where they are, unless they are registered by
hand as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.analysis.values import modules
from devlint.domain.device import UnknownDevice
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Heap, Instance, LibraryObject, ListObject
from devlint.domain.kinds import TensorRole
from devlint.domain.provenance import Origin
from devlint.domain.value import UNKNOWN, ObjectId, Opaque, Reference, Tensor, TupleValue, UserClass, Value
from devlint.facts import Step, UnregisteredMembers


def note_members(frame: Frame, cls: UserClass, heap: Heap, identity: ObjectId) -> None:
    """Notes the containers of an instance, as its `__init__` leaves it, whose members it does not register."""
    held = heap.get(identity)
    if not isinstance(held, Instance) or not classes.is_module(cls) or classes.moves_itself(cls):
        return
    env = Environment(heap=heap)
    registered = set(_registered(heap, held))
    if UNKNOWN in registered:
        return
    places = dict(held.places)
    for name, value in held.attributes:
        file, span = places.get(name, ("", frame.scope.span))
        if name in held.registered or file != frame.file:
            continue
        container, members = _members(heap, value)
        for member in members:
            made = _state(frame, env, member)
            if made is None or _key(member) in registered:
                continue
            if classes.is_read_only_in(cls, name, "__init__") and name not in classes.reached_in_use(cls):
                break  # it holds what there is to choose from, and what is chosen is registered
            what = Step(frame.program.place(made.file, made.span), made.what)
            frame.record(span, UnregisteredMembers(f"self.{name}", container, _class_of(heap, member), what))
            break


def _members(heap: Heap, value: Value) -> tuple[str, tuple[Value, ...]]:
    """What kind of container a value is, and what is in it; "" for anything else."""
    if isinstance(value, TupleValue):
        return "tuple", value.items
    held = heap.get(value.object) if isinstance(value, Reference) else None
    match held:
        case ListObject(module=None):
            return "list", held.items if held.items is not None else (held.rest,)
        case DictObject(module=None):
            return "dict", (*(item for _, item in held.items), held.rest)
        case _:
            return "", ()


def _registered(heap: Heap, held: Instance) -> Iterator[object]:
    """Everything that an instance registers, by identity; UNKNOWN where that cannot be told."""
    pending = [stored for name, stored in held.attributes if name in held.registered]
    seen: set[ObjectId] = set()
    while pending:
        value = pending.pop()
        yield _key(value)
        if not isinstance(value, Reference) or value.object in seen:
            continue
        seen.add(value.object)
        found = heap.get(value.object)
        if isinstance(found, (LibraryObject, Instance)) and found.origin is not None:
            yield (found.origin.file, found.origin.span)  # its parameters come from where it was made
        match found:
            case LibraryObject(parts=parts):
                pending.extend(part for _, part in parts)
            case Instance() as inner:
                pending.extend(stored for name, stored in inner.attributes if name in inner.registered)
            case ListObject() as inner:
                pending.extend(inner.items if inner.items is not None else (inner.rest,))
            case DictObject() as inner:
                pending.extend(part for _, part in inner.items)
                if not inner.complete:
                    yield UNKNOWN
            case _:
                yield UNKNOWN


def _key(value: Value) -> object:
    """What tells one module or parameter from another; parameters by where they were made."""
    match value:
        case Reference():
            return value.object
        case Tensor(origin=Origin(file=file, span=span)):
            return (file, span)
        case Opaque():
            return value.path
        case _:
            return UNKNOWN


def _state(frame: Frame, env: Environment, value: Value) -> Origin | None:
    """Why a member's parameters are where they are; None if it has none, or if that is not known."""
    if isinstance(value, Tensor):
        return value.origin if value.role is TensorRole.PARAMETER else None
    if not isinstance(value, Reference) or not modules.is_module(frame, env, value):
        return None
    for device, origin in modules.state(frame, env, value):
        if not isinstance(device, UnknownDevice) and origin is not None:
            return origin
    return None


def _class_of(heap: Heap, value: Value) -> str:
    held = heap.get(value.object) if isinstance(value, Reference) else None
    match held:
        case LibraryObject(cls=name):
            return name.rsplit(".", 1)[-1]
        case Instance(cls=cls):
            return cls.name.rpartition(".")[2]
        case ListObject(module=str() as name) | DictObject(module=str() as name):
            return name.rsplit(".", 1)[-1]
        case _:
            return "Parameter"
