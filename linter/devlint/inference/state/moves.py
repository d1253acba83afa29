"""Moves of whole modules, and the possible effects of unknown code on its arguments."""

from __future__ import annotations

from devlint.inference.state.frame import Frame
from devlint.inference.state.where import device_of, is_module, rank_of, registered, source_of
from devlint.inference.values.joins import join_all
from devlint.inference.values.objects import (
    DICT,
    ENVIRONMENT,
    LIBRARY,
    LIST,
    OBJECT,
    SET,
    ClassValue,
    Function,
    Instance,
)
from devlint.inference.values.tensors import Alternatives, Row, Tensor, Tuple, options, pack, row, tensor
from devlint.inference.values.terms import (
    DEVICE,
    ELEMENT,
    ITEMS,
    MAPPING,
    MOVED,
    NO_DEVICE,
    NONE,
    NUMBER,
    PARTS,
    RANK,
    RETURNS_ON,
    SOURCE,
    STATE,
    UNKNOWN,
    WORKS_ON,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    symbol,
    term,
)


def moved(frame: Frame, value: Value, where: Value, decided: Value) -> Value:
    """Return `value.to(where)`: a new tensor for a tensor; a module is moved in place and returned.

    A symbol may be either, unless an operation has proved that it is a tensor.
    """
    if isinstance(value, Tensor):
        return value if value.device is where else tensor(where, value.rank, NONE, decided)
    if isinstance(value, (Root, Symbol)):
        if value in frame.kinds:
            return tensor(where, symbol(value, RANK), NONE, decided)
        move(frame, value, where, decided)
        return term("to", value, where, decided)
    if isinstance(value, Term):
        if value.operator == "to":
            return moved(frame, value.arguments[0], where, decided)
        if value.operator in ("attribute", "get", "item"):  # perhaps a module
            return term("to", value, where, decided)
        return tensor(where, rank_of(frame, value), NONE, decided)
    if isinstance(value, Alternatives):
        return join_all([moved(frame, each, where, decided) for each in value.options if each is not NONE])
    if isinstance(value, Instance):
        move(frame, value, where, decided)
        return value
    return UNKNOWN


def scattered(frame: Frame, value: Value, where: Value) -> Value:
    """Return an input that a wrapper of a module moves: tensors, also in tuples; unknown for other containers."""
    if isinstance(value, Tensor):
        return moved(frame, value, where, frame.source())
    if isinstance(value, Tuple):
        return pack(*[scattered(frame, each, where) for each in value.items])
    if isinstance(value, (Root, Symbol, Term)):
        return term("scattered", value, where)
    return value if isinstance(value, Constant) or value is NUMBER else UNKNOWN


def move(frame: Frame, value: Value, where: Value, decided: Value) -> None:
    """Move a module in place. If the value is one of several alternatives, the device of each becomes unknown."""
    seen: dict[Value, Value] = {}
    for each in options(value):
        if isinstance(each, Root) and where is not UNKNOWN:
            frame.engine.demand.move_passed(frame.body, each.name)
        _move(frame, each, UNKNOWN if isinstance(value, Alternatives) else where, decided, seen)
    replace(frame, {old: new for old, new in seen.items() if isinstance(old, Tensor)})


def replace(frame: Frame, new: dict[Value, Value]) -> None:
    """Replace tensors that change in place by new values, in all names and fields that hold them."""
    if not new:
        return
    frame.heap.look_at_all()
    names = frame.state.names
    for name, value in names.items():
        names[name] = _replaced(value, new)
    for owner in frame.heap.objects():
        for field, value in list(frame.heap.fields(owner).items()):
            after = _replaced(value, new)
            if after is not value:
                frame.heap.put(owner, field, after)


def _replaced(value: Value, new: dict[Value, Value]) -> Value:
    if isinstance(value, Tensor):
        return new.get(value, value)
    if isinstance(value, Tuple):
        return pack(*[_replaced(each, new) for each in value.items])
    if isinstance(value, Row):
        return row(value.base, tuple([(key, _replaced(each, new)) for key, each in value.entries]))
    return value


def set_data(frame: Frame, old: Tensor, value: Value) -> None:
    """Execute `tensor.data = value`; a tensor that `parameters()` has yielded moves its whole module."""
    where = device_of(frame, value)
    owner = old.owner
    if isinstance(owner, (Instance, Root, Symbol)) and old not in frame.heap.fields(owner).values():
        move(frame, owner, where, source_of(frame, value))
    else:
        replace(frame, {old: tensor(where, rank_of(frame, value), owner, source_of(frame, value))})


def _move(frame: Frame, value: Value, where: Value, decided: Value, seen: dict[Value, Value]) -> None:
    if value in seen:
        return
    seen[value] = value
    heap = frame.heap
    if isinstance(value, (Root, Symbol)):
        for owner in heap.objects():
            if owner is not value and is_below(owner, value):
                heap.drop(owner, MOVED)
                _move_parts(frame, owner, where, decided, seen)
        heap.put(value, MOVED, where)
        _move_parts(frame, value, where, decided, seen)
    elif isinstance(value, Instance) and (is_module(value) or value.kind in (OBJECT, LIBRARY)):
        if isinstance(value.of, ClassValue):
            frame.engine.demand.move(value.of.code)
        if heap.get(value, DEVICE) not in (None, NO_DEVICE):
            heap.put(value, DEVICE, where)
        heap.put(value, SOURCE, decided)
        if where is UNKNOWN:
            forget_places(frame, value)
        if is_module(value):
            _move_parts(frame, value, where, decided, seen)
            if isinstance(value.of, ClassValue) and isinstance(value.of.code.lookup("_apply"), Function):
                _moves_what_it_likes(frame, value)


def forget_places(frame: Frame, value: Value) -> None:
    """Forget where an object keeps something of its own: code that is not analysed may have moved that."""
    for field in (STATE, WORKS_ON, RETURNS_ON):
        if isinstance(value, (Root, Symbol)) or frame.heap.get(value, field) is not None:
            frame.heap.put(value, field, UNKNOWN)


def _moves_what_it_likes(frame: Frame, owner: Instance) -> None:
    """Forget the attributes of a module with its own `_apply`, except registered tensors and modules."""
    fields = dict(frame.heap.fields(owner))
    for field, held in fields.items():
        is_part = is_module(held) or (isinstance(held, Tensor) and held.owner is not NONE)
        if field.kind == "." and not is_part and registered(field.name) not in fields:
            frame.heap.put(owner, field, UNKNOWN)


def is_below(value: Value, top: Value) -> bool:
    """Whether a symbol is reached from another one by attributes."""
    while isinstance(value, Symbol) and value.field.kind == ".":
        if value.parent is top:
            return True
        value = value.parent
    return False


def is_another_moved(frame: Frame, value: Value) -> bool:
    """Whether the body has moved another symbol than a symbol or its owners: it may be the same module."""
    if not isinstance(value, (Root, Symbol)):
        return False
    moved_ones = [each for each in frame.heap.objects() if MOVED in frame.heap.fields(each)]
    return any(each is not value and not is_below(value, each) for each in moved_ones)


def _move_parts(frame: Frame, owner: Value, where: Value, decided: Value, seen: dict[Value, Value]) -> None:
    heap = frame.heap
    fields = dict(heap.fields(owner))
    for field, held in fields.items():
        if field.kind == "." and not isinstance(held, Tuple):
            is_buffer = registered(field.name) in fields
            new = _relocated(frame, held, where, decided, is_buffer, seen)
        elif field in (ITEMS, ELEMENT, MAPPING, PARTS) and is_module(owner):
            new = _relocated(frame, held, where, decided, False, seen)
        else:
            continue
        if new is not held:
            heap.put(owner, field, new)


def _relocated(
    frame: Frame, value: Value, where: Value, decided: Value, is_buffer: bool, seen: dict[Value, Value]
) -> Value:
    """Return a part of a module that was moved."""
    if isinstance(value, Tensor):
        if value.owner is NONE and not is_buffer:
            return value
        new = tensor(where, value.rank, value.owner, decided)
        if isinstance(value.owner, (Instance, Root, Symbol)) and new is not value:
            seen[value] = new
        return new
    if isinstance(value, Tuple):
        return pack(*[_relocated(frame, each, where, decided, is_buffer, seen) for each in value.items])
    if isinstance(value, Row):
        entries = [(key, _relocated(frame, each, where, decided, is_buffer, seen)) for key, each in value.entries]
        return row(value.base, tuple(entries))
    if isinstance(value, Alternatives):
        return join_all([_relocated(frame, each, where, decided, is_buffer, seen) for each in value.options])
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return term(
            "ite",
            test,
            _relocated(frame, then, where, decided, is_buffer, seen),
            _relocated(frame, orelse, where, decided, is_buffer, seen),
        )
    if isinstance(value, (Root, Symbol, Instance)) and (not isinstance(value, Instance) or is_module(value)):
        _move(frame, value, where, decided, seen)
    return value


def havoc(frame: Frame, value: Value) -> None:
    """Forget where an argument is, and the elements of a container: unknown code may have moved or changed it."""
    heap = frame.heap
    for each in options(value):
        if isinstance(each, (Root, Symbol)):
            if each not in frame.kinds:
                for field in list(heap.fields(each)):
                    if field.kind != ".":
                        heap.put(each, field, UNKNOWN)
                _move(frame, each, UNKNOWN, NONE, {})
        elif isinstance(each, Tuple):
            for part in each.items:
                havoc(frame, part)
        elif isinstance(each, Term) and each.operator == "ite":
            havoc(frame, each.arguments[1])
            havoc(frame, each.arguments[2])
        elif isinstance(each, Instance):
            _havoc_object(frame, each)


def _havoc_object(frame: Frame, value: Instance) -> None:
    heap = frame.heap
    if value.kind in (LIST, SET):
        _forget_elements(frame, value)
        heap.put(value, ELEMENT, UNKNOWN)
    elif value.kind == DICT:
        heap.put(value, MAPPING, row(UNKNOWN))
    elif value.kind != ENVIRONMENT:
        _move(frame, value, UNKNOWN, NONE, {})


def _forget_elements(frame: Frame, value: Instance) -> None:
    for field in (ITEMS, PARTS, ELEMENT):
        frame.heap.drop(value, field)
