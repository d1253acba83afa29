"""Objects as calls change them: copied, handed to code that nobody follows, filled by generators."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.analysis.values.arguments import Arguments
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject, Optimizer
from devlint.domain.place import SELF, AccessPath
from devlint.domain.value import (
    UNKNOWN,
    DeviceValue,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    Value,
    is_array,
)
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import PICTURE


def hold_host_data(env: Environment, arguments: Arguments) -> bool:
    """Whether objects of the program that a call is given, which are no modules, hold tensors on the CPU."""
    objects = [env.heap.get(one.value.object) for one in arguments.all() if isinstance(one.value, Reference)]
    given = [held for held in objects if isinstance(held, Instance) and not classes.is_module(held.cls)]
    return any(isinstance(value, Tensor) and value.device == CPU for held in given for _, value in held.attributes)


def may_have_more(held: Instance) -> bool:
    """Whether an object may have attributes that nobody is seen to store."""
    return held.open or classes.is_dynamic(held.cls) or classes.is_open(held.cls)


def unseen_attribute(held: Instance, name: str, place: AccessPath | None) -> Value:
    """An attribute that nobody is seen to store; `place` is that of the object, if it has one in the body."""
    if name == "device":
        owner = SELF if place == SELF else held.place
        return DeviceValue(Variable(owner.attribute(name)), True)
    return Opaque(held.place.attribute(name))


def is_read_as_array(env: Environment, value: Value) -> bool:
    """Whether a value is an array, or a picture, which numpy reads as one."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    return is_array(value) or (isinstance(held, LibraryObject) and held.cls == PICTURE)


def generator(frame: Frame, env: Environment | None, yielded: Value | None) -> Value:
    """What calling a generator function gives: something that yields."""
    if env is None:
        return UNKNOWN
    identity = frame.new_object(frame.scope.span, "generator")
    env.heap[identity] = ListObject(None, UNKNOWN if yielded is None else yielded)
    return Reference(identity)


def copied(frame: Frame, env: Environment, value: Value, span: Span, made: dict[ObjectId, Reference]) -> Value:
    """What `copy.deepcopy` makes of a value; `made` holds the copies of objects so far."""
    if isinstance(value, TupleValue):
        return replace(value, items=tuple(copied(frame, env, item, span, made) for item in value.items))
    if not isinstance(value, Reference):
        return value
    if value.object in made:
        return made[value.object]
    held = env.heap.get(value.object)
    made[value.object] = copy = Reference(frame.new_object(span, f"copy of {value.object.site}"))
    match held:
        case LibraryObject():
            parts = tuple((name, copied(frame, env, part, span, made)) for name, part in held.parts)
            env.heap[copy.object] = replace(held, parts=parts)
        case Instance() if classes.find(held.cls, "__deepcopy__") is None:
            stored = tuple((name, copied(frame, env, part, span, made)) for name, part in held.attributes)
            env.heap[copy.object] = replace(held, attributes=stored)
        case ListObject():
            items = None if held.items is None else tuple(copied(frame, env, it, span, made) for it in held.items)
            env.heap[copy.object] = replace(held, items=items, rest=copied(frame, env, held.rest, span, made))
        case DictObject():
            pairs = tuple((key, copied(frame, env, item, span, made)) for key, item in held.items)
            env.heap[copy.object] = replace(held, items=pairs, rest=copied(frame, env, held.rest, span, made))
        case _:
            return UNKNOWN
    return copy


def escape_arguments(env: Environment, arguments: Arguments) -> None:
    """Objects handed to code that is not followed may come back changed: moved, filled, replaced."""
    env.arriving = frozenset()
    for argument in arguments.all():
        escape(env, argument.value)


def escape(env: Environment, value: Value) -> None:
    """Forgets what is known of an object that goes where it is not followed."""
    pending: list[Value] = [value]
    seen: set[ObjectId] = set()
    while pending:
        item = pending.pop()
        if isinstance(item, TupleValue):
            pending.extend(item.items)
        if not isinstance(item, Reference) or item.object in seen:
            continue
        seen.add(item.object)
        held = env.heap.get(item.object)
        match held:
            case LibraryObject():
                env.heap[item.object] = replace(held, device=UNKNOWN_DEVICE)
                pending.extend(part for _, part in held.parts)
            case Instance():
                pending.extend(stored for _, stored in held.stored)
                after = held.escaped()
                if classes.knows_device(held.cls):
                    after = after.put("device", UNKNOWN, registered=False)
                env.heap[item.object] = after
            case ListObject():
                pending.extend(held.items or (held.rest,))
                env.heap[item.object] = held.loosened(UNKNOWN)
            case Optimizer():
                # Its modules are handed over in their own name, if they are.
                env.heap[item.object] = replace(held, state=UNKNOWN_DEVICE)
            case DictObject():
                pending.extend(part for _, part in held.items)
                env.heap[item.object] = DictObject((), UNKNOWN, False, held.module)
            case _:
                pass
