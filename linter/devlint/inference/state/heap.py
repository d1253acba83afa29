"""Fields by object. Two forks of a heap share the fields of an object until one of them writes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from devlint.inference.values.joins import earlier, either, join_all
from devlint.inference.values.objects import Instance
from devlint.inference.values.tensors import Tuple, pack
from devlint.inference.values.terms import (
    ABSENT,
    APPENDED,
    BOTTOM,
    DEVICE,
    ELEMENT,
    ITEMS,
    MOVED,
    PARTS,
    SOURCE,
    UNKNOWN,
    Field,
    Root,
    Symbol,
    Value,
    is_symbolic,
    symbol,
)

Fields = dict[Field, Value]
NO_FIELDS: Final[Mapping[Field, Value]] = {}


@final
class Heap:
    """Fields by object: all fields of an object that the body has made, and the stored fields of a passed object."""

    __slots__ = ("_objects", "_owned")

    def __init__(self) -> None:
        self._objects: dict[Value, Fields] = {}
        self._owned: set[Value] = set()

    def fork(self) -> Heap:
        """Return a heap that holds the same and can change for itself."""
        other = Heap()
        other._objects = dict(self._objects)
        self._owned = set()
        return other

    def get(self, owner: Value, field: Field) -> Value | None:
        """Return the value of a field; None if the heap does not have it."""
        fields = self._objects.get(owner)
        return None if fields is None else fields.get(field)

    def fields(self, owner: Value) -> Mapping[Field, Value]:
        """Return all fields of an object, read-only."""
        return self._objects.get(owner, NO_FIELDS)

    def objects(self) -> Iterable[Value]:
        """Return all objects, in the order in which they were first stored in."""
        return list(self._objects)

    def put(self, owner: Value, field: Field, value: Value) -> None:
        """Store a value in a field."""
        self._own(owner)[field] = value

    def drop(self, owner: Value, field: Field) -> None:
        """Forget a field."""
        if field in self._objects.get(owner, NO_FIELDS):
            del self._own(owner)[field]

    def forget(self, owner: Value) -> None:
        """Forget an object: its site makes a new one."""
        self._objects.pop(owner, None)
        self._owned.discard(owner)

    def _own(self, owner: Value) -> Fields:
        fields = self._objects.get(owner)
        if fields is None or owner not in self._owned:
            fields = {} if fields is None else dict(fields)
            self._objects[owner] = fields
            self._owned.add(owner)
        return fields

    def same_as(self, other: Heap) -> bool:
        """Whether two heaps hold the same."""
        return self._objects == other._objects

    def joined(self, other: Heap, test: Value) -> Heap:
        """Return the join of two heaps; `test` holds on the path of this one, NONE if there is no such test."""
        whole = Heap()
        for owner in dict.fromkeys((*self._objects, *other._objects)):
            one, two = self._objects.get(owner), other._objects.get(owner)
            if one is two or two is None or one is None:
                fields = one if two is None else two if one is None else one
                if is_symbolic(owner) and (one is None or two is None):
                    fields = _joined(owner, one or {}, two or {}, test)
            else:
                fields = _joined(owner, one, two, test)
            whole._objects[owner] = fields or {}
        return whole


def _joined(owner: Value, one: Fields, two: Fields, test: Value) -> Fields:
    """Return the fields of an object that both paths know."""
    fields: Fields = {}
    for field in dict.fromkeys((*one, *two)):
        a, b = one.get(field), two.get(field)
        if a is b and a is not None:
            fields[field] = a
        elif field is PARTS:
            shared = [each for each in _items(a) if each in _items(b)]
            fields[PARTS] = pack(*shared)
        elif field is SOURCE:
            fields[SOURCE] = earlier(a or at_first(owner, SOURCE), b or at_first(owner, SOURCE))
        elif field in (ITEMS, ELEMENT) and isinstance(owner, Instance):
            continue
        else:
            value = either(test, a or at_first(owner, field), b or at_first(owner, field))
            fields[field] = UNKNOWN if value is BOTTOM else value
    if isinstance(owner, Instance):
        _join_elements(one, two, test, fields)
    return fields


def _join_elements(one: Fields, two: Fields, test: Value, fields: Fields) -> None:
    """Join the elements of a list: item by item if both paths have the same number of items, else as ELEMENT."""
    a, b = one.get(ITEMS), two.get(ITEMS)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        fields[ITEMS] = either(test, a, b)
        return
    held = [join_all(_items(a)), join_all(_items(b)), one.get(ELEMENT, BOTTOM), two.get(ELEMENT, BOTTOM)]
    if a is not None or b is not None or ELEMENT in one or ELEMENT in two:
        fields[ELEMENT] = join_all(held)


def _items(value: Value | None) -> tuple[Value, ...]:
    return value.items if isinstance(value, Tuple) else ()


def at_first(owner: Value, field: Field) -> Value:
    """Return the initial value of a field; for a symbol, its value at the entry of the body."""
    if isinstance(owner, (Root, Symbol)):
        if field is APPENDED:
            return BOTTOM
        return symbol(owner, DEVICE if field is MOVED else field)
    return ABSENT if field.kind != "#" else UNKNOWN
