"""Transfer functions for containers: displays, subscripts, iteration and unpacking.

Subscripts of tensors are a library's business and go to the catalogue; here are tuples, lists, dicts and the
elements of things that are opaque.
"""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.domain.device import UNKNOWN_DEVICE, Device, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import LARGEST_DISPLAY, DictObject, Instance, ListObject, Object, summary
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import EACH, AccessStep
from devlint.domain.provenance import OTHERS
from devlint.domain.value import (
    NUMBER,
    TEXT,
    UNKNOWN,
    Constant,
    Host,
    Kind,
    Opaque,
    Rank,
    Reference,
    Tensor,
    TupleValue,
    Value,
    cpu_on_one_path,
    is_count,
    together,
)
from devlint.domain.value import join as join_values
from devlint.frontend import ir
from devlint.records import dataclass
from devlint.torchlib.knowledge import SAVED, SAVES


@dataclass(frozen=True, slots=True)
class Elements:
    """What iterating yields: `each` covers every element; `few` lists them when they are known and few."""

    each: Value
    few: tuple[Value, ...] | None = None


UNROLLED = 4
"""Loops over at most so many known elements are executed element by element."""


def elements_of(frame: Frame, env: Environment, value: Value) -> Elements:
    """What iterating over a value yields."""
    match value:
        case TupleValue():
            return _listed(value.items)
        case Reference():
            frame.iterated(env, value)
            held = env.heap.get(value.object)
            match held:
                case ListObject(items=items) if items is not None:
                    return Elements(UNKNOWN, items) if items and held.singly else _listed(items)
                case ListObject():
                    return Elements(held.rest)
                case DictObject() if held.complete:
                    return _listed(tuple(Constant(key) for key, _ in held.items))
                case Instance() if held.inherited is not None:
                    return elements_of(frame, env, held.inherited)
                case _:
                    return Elements(UNKNOWN)
        case Tensor():
            return Elements(row(value))
        case Opaque():
            return Elements(element(frame, value, EACH))
        case Host(kind="text"):
            return Elements(TEXT)
        case Host(kind="array"):
            return Elements(UNKNOWN)
        case Constant(is_text=True):
            return Elements(TEXT)
        case _:
            return Elements(UNKNOWN)


def items_of(frame: Frame, env: Environment, value: Value) -> tuple[Value, ...] | None:
    """What iterating over a container yields, where all of it is known."""
    if isinstance(value, TupleValue):
        return value.items
    frame.iterated(env, value)
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    if isinstance(held, Instance) and held.inherited is not None:
        return items_of(frame, env, held.inherited)
    if isinstance(held, DictObject) and held.complete:
        return tuple(Constant(key) for key, _ in held.items)
    return held.items if isinstance(held, ListObject) else None


def _listed(items: tuple[Value, ...]) -> Elements:
    if 0 < len(items) <= UNROLLED:
        return Elements(UNKNOWN, items)
    return Elements(summary(ListObject(items)))


def row(tensor: Tensor) -> Tensor:
    """One element of a tensor along its first dimension."""
    stray = tensor.stray and replace(tensor.stray, rank=_rank_of_row(tensor.stray.rank))
    return replace(tensor, rank=_rank_of_row(tensor.rank), role=TensorRole.PLAIN, stray=stray)


def _rank_of_row(rank: Rank) -> Rank:
    return rank - 1 if rank is not None and rank > 0 else None


def element(frame: Frame, value: Opaque, step: AccessStep) -> Value:
    """An element or attribute of an opaque value: opaque itself; of a tensor, a tensor on the same device.

    A tensor has no elements with names: what was taken for one, such as an input of `forward`, is a mapping then.
    """
    kind = frame.kind(value)
    if kind is Kind.TENSOR and step.is_element and not step.is_entry:
        return row(frame.tensor(value))
    path = value.path.step(step)
    if len(path.exact) > LONGEST_PATH:
        return UNKNOWN
    device: Device = value.device
    if isinstance(device, Variable):
        device = Variable(path)
    declared = step.is_element and frame.proofs.kinds.get(value.path.each()) is Kind.TENSOR
    part = Opaque(path, Kind.TENSOR if declared else Kind.ANY, device, value.origin)
    if value.path.is_attribute(SAVED):
        return replace(part, kind=Kind.TENSOR)
    return replace(part, kind=Kind.MOVABLE) if is_loaded(part) else part


def is_loaded(value: Opaque) -> bool:
    """Whether a value is a part of a batch: a loader makes tensors of all numbers."""
    return value.path.is_element and value.origin is not None and value.origin.kind is OriginKind.LOADER


def saves(value: Opaque) -> bool:
    """Whether a value is the method of a context that is given tensors to save, and nothing else."""
    return value.path.is_attribute(SAVES)


LONGEST_PATH = 60
"""Paths longer than this are forgotten: a loop such as `node = node.next` would make them grow for ever."""


def build(frame: Frame, instruction: ir.Build, env: Environment) -> Environment:
    """A tuple, list or set display."""
    frame.displays[instruction.span] = tuple(frame.spans[item.register] for item in instruction.items)
    items: list[Value] | None = []
    for item in instruction.items:
        value = frame.registers[item.register]
        if not item.unpack:
            if items is not None:
                items.append(value)
            continue
        inner = items_of(frame, env, value)
        if inner is None:
            items = None
        elif items is not None:
            items.extend(inner)
    if items is not None and len(items) > LARGEST_DISPLAY:
        known = ListObject(None, summary(ListObject(tuple(items))))
    else:
        known = ListObject(None if items is None else tuple(items))
    if instruction.kind == "tuple":
        result: Value = UNKNOWN if known.items is None else TupleValue(known.items)
    else:
        result = allocate(frame, env, instruction.span, instruction.kind, known)
    frame.set(instruction.target, result, instruction.span)
    return env


def allocate(
    frame: Frame,
    env: Environment,
    span: ir.Span,
    what: str,
    made: Object,
) -> Reference:
    """Puts a new object into the heap."""
    identity = frame.new_object(span, what)
    env.heap[identity] = made
    return Reference(identity)


def build_mapping(frame: Frame, instruction: ir.BuildMapping, env: Environment) -> Environment:
    """A dict display."""
    items: dict[object, Value] = {}
    complete, rest = len(instruction.items) <= LARGEST_DISPLAY, UNKNOWN
    for key_register, register in instruction.items:
        value = frame.registers[register]
        key = None if key_register is None else frame.registers[key_register]
        if key_register is None:
            inner = env.heap.get(value.object) if isinstance(value, Reference) else None
            if isinstance(inner, DictObject) and inner.complete:
                items.update(inner.items)
            else:
                complete = False
                items.clear()
        elif isinstance(key, Constant):
            items[key.value] = value
        else:
            complete = False
            items.clear()  # the key that is not known may be any of them
    made = DictObject(tuple(items.items()) if len(items) <= LARGEST_DISPLAY else (), rest, complete)
    frame.set(instruction.target, allocate(frame, env, instruction.span, "dict", made), instruction.span)
    return env


def append(frame: Frame, instruction: ir.Append, env: Environment) -> Environment:
    """One more element of what a comprehension builds."""
    container, value = frame.registers[instruction.container], frame.registers[instruction.source]
    if isinstance(container, Reference):
        add_element(env, container, _varying(frame, value))
    return env


def _varying(frame: Frame, value: Value) -> Value:
    """An element that a test chooses; where that is about what changes, it chooses the other one in other turns."""
    stray = cpu_on_one_path(value)
    if stray is None or not frame.loops or not isinstance(value, (Tensor, Opaque)):
        return value
    varies = not frame.loops[-1].plan.bound.isdisjoint(re.findall(r"\w+", stray.subject))
    return replace(value, stray=replace(stray, subject=OTHERS)) if varies else value


def add_element(env: Environment, container: Reference, value: Value, *, repeated: bool = False) -> None:
    """`list.append`; `repeated` when it happens an unknown number of times."""
    held = env.heap.get(container.object)
    if not isinstance(held, ListObject):
        return
    if held.items is not None and not repeated and len(held.items) < LARGEST_DISPLAY:
        env.heap[container.object] = replace(held, items=held.items + (value,))
        return
    empty = held.items == ()
    rest = value if empty else together(summary(held), value)
    first = held.first if not repeated else None
    env.heap[container.object] = replace(held, items=None, rest=rest, first=first)


def put_into(env: Environment, container: Reference, name: object, value: Value) -> None:
    """`add_module(name, value)` of a module that holds others; any other object stays as it is."""
    held = env.heap.get(container.object)
    if isinstance(held, DictObject):
        env.heap[container.object] = held.put(name, value) if name is not None else held.put_somewhere(value)
    else:
        add_element(env, container, value)


def extend(frame: Frame, env: Environment, container: Reference, more: Value) -> None:
    """`list.extend`: adds everything that `more` yields."""
    items = items_of(frame, env, more)
    if items is None:
        add_element(env, container, elements_of(frame, env, more).each, repeated=True)
    for item in items or ():
        add_element(env, container, item)


def unpack(frame: Frame, instruction: ir.Unpack, env: Environment) -> Environment:
    """`a, b = source`."""
    value = frame.registers[instruction.source]
    frame.prove_shape(env, instruction.source)
    count = len(instruction.targets)
    values: list[Value]
    listed: tuple[Value, ...] | None = None
    if isinstance(value, TupleValue):
        listed = value.items
    elif isinstance(value, Reference):
        frame.iterated(env, value)
        held = env.heap.get(value.object)
        if isinstance(held, ListObject):
            listed = held.items
        elif isinstance(held, Instance) and held.cls.is_record:
            listed = tuple(held.get(field.name) or UNKNOWN for field in classes.fields(held.cls))
    star = instruction.starred
    if listed is not None and star is None and len(listed) == count:
        values = list(listed)
    elif listed is not None and star is not None and len(listed) >= count - 1:
        after = count - 1 - star
        middle = listed[star : len(listed) - after]
        rest = allocate(frame, env, instruction.span, "starred", ListObject(middle))
        values = [*listed[:star], rest, *listed[len(listed) - after :]]
    elif isinstance(value, Opaque) and star is None and not _is_known_tensor(frame, value):
        whole = replace(value, kind=Kind.ANY)
        values = [element(frame, whole, AccessStep.item(position)) for position in range(count)]
    else:
        each = elements_of(frame, env, value)
        one = each.each if each.few is None else UNKNOWN
        values = [one] * count
        if star is not None:
            values[star] = UNKNOWN
    span = frame.spans[instruction.source]
    for register, item in zip(instruction.targets, values, strict=True):
        frame.set(register, item, span)
    return env


def _is_known_tensor(frame: Frame, value: Opaque) -> bool:
    """Whether a value is a tensor, and more says so than that it is an input of `forward`: one in parts is a tuple."""
    if frame.kind(value) is not Kind.TENSOR:
        return False
    parameters = getattr(frame.scope, "parameters", ())
    is_input = any(one.name == value.path.name and one.annotation is None for one in parameters)
    return not is_input or value.path in frame.proofs.kinds


def subscript(frame: Frame, env: Environment, base: Value, key: Value, span: ir.Span) -> Value:
    """`base[key]` for everything that is not a tensor."""
    match base:
        case TupleValue():
            return _pick(base.items, key)
        case Reference():
            held = env.heap.get(base.object)
            match held:
                case ListObject() if isinstance(key, Host) and key == SLICE:
                    kept = None if held.items is None else _sliced(held.items, key)
                    known = held.loosened(summary(held)) if kept is None else replace(held, items=kept)
                    return allocate(frame, env, span, "slice", known)
                case ListObject(items=items) if items is not None:
                    return _pick(items, key)
                case ListObject():
                    if key == Constant(0) and held.first is not None:
                        return held.first
                    return held.rest if isinstance(key, (Constant, Host)) else UNKNOWN
                case DictObject():
                    return held.get(key.value) if isinstance(key, Constant) else held.each()
                case Instance() if held.inherited is not None:
                    return subscript(frame, env, held.inherited, key, span)
                case _:
                    return UNKNOWN
        case Opaque():
            if is_array_key(key):
                frame.infer_kind(base, Kind.ARRAY)
            if frame.kind(base) is Kind.ARRAY:
                return base  # part of an array, where the array is
            if isinstance(key, Constant):
                return element(frame, base, AccessStep.item(key.value))
            return UNKNOWN
        case Host(kind="shape"):
            return base if key == SLICE else NUMBER
        case Constant(is_text=True) | Host(kind="text"):
            return TEXT
        case _:
            return UNKNOWN


def _store_in_batch(frame: Frame, env: Environment, batch: Opaque, key: Value, value: Value) -> None:
    """A loop over a loader stores something in a batch: where that is a mapping, its other elements stay."""
    if not (isinstance(key, Constant) and isinstance(key.value, str)):
        forget_batch(env, batch)
        return
    rest = element(frame, batch, EACH)
    held = DictObject(((key.value, value),), rest, complete=False)
    changed = allocate(frame, env, frame.scope.span, f"batch {batch.path.exact}", held)
    env.names.update({name: changed for name, known in env.names.items() if known == batch})


def is_batch(value: Value) -> bool:
    """Whether a value is what a loader gives to a loop."""
    return isinstance(value, Opaque) and value.origin is not None and value.origin.kind is OriginKind.LOADER


def forget_batch(env: Environment, batch: Value) -> None:
    """Forget where the tensors of a batch are, under each name of the batch."""
    if isinstance(batch, Opaque):
        changed = replace(batch, device=UNKNOWN_DEVICE, origin=None)
        env.names.update({name: changed for name, known in env.names.items() if known == batch})


SLICE = Host("slice")


def is_array_key(key: Value) -> bool:
    """Whether only tensors and arrays take such a key: `x[:, 0]`, `x[None, :]`, `x[..., 1]`."""
    parts = key.items if isinstance(key, TupleValue) else ()
    return any(part == SLICE or (isinstance(part, Constant) and part.value in (None, Ellipsis)) for part in parts)


def _sliced(items: tuple[Value, ...], key: Host) -> tuple[Value, ...] | None:
    """The elements that a slice selects, None where its bounds are not known."""
    return None if key.bounds is None or key.bounds[2] == 0 else items[slice(*key.bounds)]


def _pick(items: tuple[Value, ...], key: Value) -> Value:
    if isinstance(key, Constant) and isinstance(key.value, int):
        return items[key.value] if -len(items) <= key.value < len(items) else UNKNOWN
    if isinstance(key, Host) and key == SLICE:
        kept = _sliced(items, key)
        return UNKNOWN if kept is None else TupleValue(kept)
    if not items:
        return UNKNOWN
    if key == NUMBER or is_count(key):
        return summary(ListObject(items))
    return UNKNOWN


def store_subscript(frame: Frame, env: Environment, base: Value, key: Value, value: Value) -> None:
    """`base[key] = value` for lists and dicts."""
    if isinstance(base, Opaque) and is_batch(base):
        _store_in_batch(frame, env, base, key, value)
    held = env.heap.get(base.object) if isinstance(base, Reference) else None
    if not isinstance(base, Reference) or held is None:
        return
    match held:
        case DictObject():
            after = held.put(key.value, value) if isinstance(key, Constant) else held.put_somewhere(value)
            env.heap[base.object] = after
        case ListObject(items=items) if items is not None and isinstance(key, Constant):
            position = key.value
            if isinstance(position, int) and -len(items) <= position < len(items):
                changed = list(items)
                changed[position] = value
                env.heap[base.object] = replace(held, items=tuple(changed))
        case ListObject():
            rest = UNKNOWN if key == SLICE else join_values(summary(held), value)
            env.heap[base.object] = held.loosened(rest)
        case Instance() if held.inherited is not None:
            store_subscript(frame, env, held.inherited, key, value)
        case _:
            pass
