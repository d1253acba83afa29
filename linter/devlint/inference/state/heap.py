"""Fields by object. Two forks of a heap share the fields of an object until one of them writes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from devlint.inference.values.joins import earlier, either, join_all
from devlint.inference.values.objects import Bound, Function, Instance, Method, Super
from devlint.inference.values.tensors import Alternatives, Row, Tensor, Tuple, pack
from devlint.inference.values.terms import (
    ABSENT,
    APPENDED,
    BOTTOM,
    DEVICE,
    ELEMENT,
    ITEMS,
    MOVED,
    PARAMETER,
    PARTS,
    SOURCE,
    UNKNOWN,
    Field,
    Root,
    Symbol,
    Term,
    Value,
    is_symbolic,
    root_of,
    symbol,
)

Fields = dict[Field, Value]
NO_FIELDS: Final[Mapping[Field, Value]] = {}


class Copied:
    """The fields of an object that a call has made, in terms of the caller; they are computed when somebody looks.

    Attributes:
        call: tells the objects of one call from those of others.
    """

    __slots__ = ("call",)

    def __init__(self, call: object) -> None:
        self.call = call

    def look(self) -> tuple[Fields, tuple[tuple[Value, Copied], ...]]:
        """Return the fields, and the objects of the call that they lead to."""
        raise NotImplementedError


@final
class Heap:
    """Fields by object: all fields of an object that the body has made, and the stored fields of a passed object.

    An object of a call is `Copied` until somebody looks at it.
    """

    __slots__ = ("_calls", "_objects", "_owned")

    def __init__(self) -> None:
        self._objects: dict[Value, Fields | Copied] = {}
        self._calls: dict[Value, object] = {}
        self._owned: set[Value] = set()

    def fork(self) -> Heap:
        """Return a heap that holds the same and can change for itself."""
        other = Heap()
        other._objects = dict(self._objects)
        other._calls = dict(self._calls)
        self._owned = set()
        return other

    def get(self, owner: Value, field: Field) -> Value | None:
        """Return the value of a field; None if the heap does not have it."""
        return self.fields(owner).get(field)

    def fields(self, owner: Value) -> Mapping[Field, Value]:
        """Return all fields of an object, read-only."""
        found = self._objects.get(owner)
        if found is None:
            return NO_FIELDS
        return self._look(owner, found) if isinstance(found, Copied) else found

    def has(self, owner: Value) -> bool:
        """Whether the heap knows an object."""
        return owner in self._objects

    def objects(self) -> Iterable[Value]:
        """Return all objects, in the order in which they were first stored in."""
        return list(self._objects)

    def put(self, owner: Value, field: Field, value: Value) -> None:
        """Store a value in a field."""
        self._own(owner)[field] = value

    def drop(self, owner: Value, field: Field) -> None:
        """Forget a field."""
        if field in self.fields(owner):
            del self._own(owner)[field]

    def part(self, values: Iterable[Value]) -> Heap:
        """Return the part that some values lead to, with the state of the process; no new object is looked at."""
        whole = Heap()
        symbols = {each: root_of(each) for each in self._objects if not isinstance(each, Instance)}
        waiting = [*values, *[top for top in symbols.values() if top is not None and top.kind != PARAMETER]]
        seen: set[Value] = set()
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            top = root_of(value)
            for owner in (value,) if top is None else [each for each, its in symbols.items() if its is top]:
                found = self._objects.get(owner)
                if found is not None and owner not in whole._objects:
                    whole._objects[owner] = found
                    if owner in self._calls:
                        whole._calls[owner] = self._calls[owner]
                    if not isinstance(found, Copied):
                        waiting.extend(found.values())
            waiting.extend(parts(value))
        return whole

    def forget(self, owner: Value) -> None:
        """Forget an object: its site makes a new one."""
        self._objects.pop(owner, None)
        self._calls.pop(owner, None)
        self._owned.discard(owner)

    def copy(self, owner: Value, copied: Copied) -> None:
        """Take an object of a call; one that an earlier execution of the call has made is forgotten."""
        if self._calls.get(owner) is not copied.call:
            self._objects[owner] = copied
            self._calls[owner] = copied.call
            self._owned.discard(owner)

    def look_at_all(self) -> None:
        """Compute the fields of all objects."""
        waiting = [owner for owner, found in self._objects.items() if isinstance(found, Copied)]
        while waiting:
            waiting = [reached for owner in waiting for reached in self._look_further(owner)]

    def _look(self, owner: Value, copied: Copied) -> Fields:
        fields, reached = copied.look()
        self._objects[owner] = fields
        for each, further in reached:
            self.copy(each, further)
        return fields

    def _look_further(self, owner: Value) -> list[Value]:
        """Look at an object, and return the objects that its fields lead to."""
        found = self._objects.get(owner)
        if not isinstance(found, Copied):
            return []
        self._look(owner, found)
        return [each for each, _ in found.look()[1]]

    def _own(self, owner: Value) -> Fields:
        fields = self.fields(owner)
        if owner not in self._owned:
            fields = dict(fields)
            self._objects[owner] = fields
            self._owned.add(owner)
        assert isinstance(fields, dict)
        return fields

    def _look_where_different(self, other: Heap) -> None:
        """Look at each object that two heaps know, unless both know the same of it."""
        waiting = list(self._objects)
        while waiting:
            owner = waiting.pop()
            one, two = self._objects.get(owner), other._objects.get(owner)
            if one is not two and one is not None and two is not None:
                waiting += [*self._look_further(owner), *other._look_further(owner)]

    def same_as(self, other: Heap) -> bool:
        """Whether two heaps hold the same."""
        self._look_where_different(other)
        return self._objects == other._objects

    def joined(self, other: Heap, test: Value) -> Heap:
        """Return the join of two heaps; `test` holds on the path of this one, NONE if there is no such test."""
        self._look_where_different(other)
        whole = Heap()
        whole._calls = {**other._calls, **self._calls}
        for owner in dict.fromkeys((*self._objects, *other._objects)):
            one, two = self._objects.get(owner), other._objects.get(owner)
            if isinstance(one, Copied) or isinstance(two, Copied):
                whole._objects[owner] = one or two or {}
                continue
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


def parts(value: Value) -> tuple[Value, ...]:
    """Return the components of a value that can lead to an object."""
    if isinstance(value, Tuple):
        return value.items
    if isinstance(value, Alternatives):
        return value.options
    if isinstance(value, Term):
        return value.arguments
    if isinstance(value, Row):
        return tuple([each for _, each in value.entries])
    if isinstance(value, Bound):
        return (value.function, value.receiver)
    if isinstance(value, Function):
        return (value.environment,)
    if isinstance(value, (Method, Super)):
        return (value.receiver,)
    return (value.owner,) if isinstance(value, Tensor) else ()
