"""Abstract objects: modules, instances and containers, which are shared and change in place.

One `ObjectId` stands for every object allocated at its site through the same calls, the last one above all: a
loop that makes ten modules makes one abstract object. Objects are immutable here; the heap maps an id to the
object's present state, and an update is a new entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import field, replace
from itertools import compress, islice, repeat
from operator import is_, is_not
from typing import TypeAlias

from devlint.domain.device import Device
from devlint.domain.device import join as join_devices
from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    UNKNOWN,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    UserClass,
    Value,
    cpu_on_one_path,
    together,
    without_cpu_path,
)
from devlint.domain.value import join as join_values
from devlint.frontend.ir import Span
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class LibraryObject:
    """An instance of a library class, mostly a `torch.nn` module.

    Attributes:
        cls: its canonical class name: `torch.nn.Linear`.
        device: where its parameters are.
        parts: what it was made of: the module inside a DataParallel, the dataset of a loader.
    """

    cls: str
    device: Device
    origin: Origin | None = field(default=None, compare=False)
    parts: tuple[tuple[str, Value], ...] = ()

    def part(self, name: str) -> Value:
        """The part of that name, Unknown if there is none."""
        return dict(self.parts).get(name, UNKNOWN)


def forgotten(value: Value) -> Value:
    """Return an attribute as code leaves it that may have changed it."""
    return UNKNOWN if isinstance(value, (Tensor, Opaque)) else value


INHERITED = "__inherited__"
"""The attribute that holds the inherited part of an instance: an object of the library class among its bases."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class of the program.

    Attributes:
        cls: its class.
        attributes: what its attributes hold.
        registered: names of parameters, buffers and submodules, which move with the module.
        open: more attributes may exist than are listed, because a base class or a caller is not known.
        moved: the last device the whole of it was moved to, with why.
        places: where its attributes were stored last: file and stretch, by name.
    """

    cls: UserClass
    attributes: tuple[tuple[str, Value], ...] = ()
    registered: frozenset[str] = frozenset()
    open: bool = False
    origin: Origin | None = field(default=None, compare=False)
    moved: tuple[Device, Origin | None] | None = field(default=None, compare=False)
    places: tuple[tuple[str, tuple[str, Span]], ...] = field(default=(), compare=False)

    def get(self, name: str) -> Value | None:
        """The attribute, None if it has not been stored."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    def registers(self, name: str) -> bool:
        """Whether the attribute of that name moves with the module."""
        return name in self.registered

    @property
    def place(self) -> AccessPath:
        """The place of the object, for attributes that nobody is seen to store."""
        return AccessPath(self.cls.name)

    @property
    def stored(self) -> tuple[tuple[str, Value], ...]:
        """The attributes that were stored where the execution can see it, with their values."""
        return self.attributes

    def with_stored(self, values: Mapping[str, Value]) -> Instance:
        """The instance with other values of the `stored` attributes."""
        return replace(self, attributes=tuple((name, values[name]) for name, _ in self.attributes))

    @property
    def inherited(self) -> Reference | None:
        """The object of the library class among its bases, which it inherits from; None without one."""
        found = self.get(INHERITED)
        return found if isinstance(found, Reference) else None

    def put(self, name: str, value: Value, *, registered: bool, where: tuple[str, Span] | None = None) -> Instance:
        """The instance after storing an attribute; what a module registers moves with it, wherever it was created."""
        if registered:
            value = without_cpu_path(value)
        attributes = [item for item in self.attributes if item[0] != name]
        attributes.append((name, value))
        names = self.registered
        if registered is not (name in names):
            names = names | {name} if registered else names - {name}
        places = [item for item in self.places if item[0] != name]
        if where is not None:
            places.append((name, where))
        return Instance(self.cls, tuple(attributes), names, self.open, self.origin, self.moved, tuple(places))

    def escaped(self) -> Instance:
        """The instance behind code that nobody follows, which may have changed its attributes."""
        kept = tuple((name, forgotten(value)) for name, value in self.attributes)
        return replace(self, attributes=kept, open=True)

    def joined(self, other: Instance) -> Instance | None:
        """The least instance above both; None if they are of different classes."""
        if self.cls is not other.cls:
            return None
        theirs = dict(other.attributes)
        attributes = []
        for name, value in self.attributes:
            # An attribute stored on one path only holds, where it exists, what that path stored.
            found = theirs.pop(name, None)
            attributes.append((name, value if found is None else join_values(value, found)))
        attributes.extend(theirs.items())
        registered = self.registered | other.registered
        places = tuple((dict(other.places) | dict(self.places)).items())
        return Instance(self.cls, tuple(attributes), registered, self.open or other.open, self.origin, places=places)


@dataclass(frozen=True, slots=True)
class ListObject:
    """A list, set, or a module that holds others in order (`module`: its class, e.g. `torch.nn.Sequential`).

    `items` are the elements one by one while their number is known, else None and `rest` covers them all; then
    `first` is the first of them where that is known all the same. `owner`: they are parameters of that module.
    `singly`: a loop takes them one by one, however many they are.
    """

    items: tuple[Value, ...] | None
    rest: Value = UNKNOWN
    module: str | None = None
    first: Value | None = None
    owner: Value | None = None
    singly: bool = False

    def loosened(self, rest: Value) -> ListObject:
        """The same with elements that are no longer known one by one."""
        return ListObject(None, rest, self.module)


@dataclass(frozen=True, slots=True)
class DictObject:
    """A dict, or a module that holds others by name (`module`). Keys are constants; `rest` covers the others.

    `complete`: no other keys exist. `singly`: as for a sequence.
    """

    items: tuple[tuple[object, Value], ...]
    rest: Value = UNKNOWN
    complete: bool = True
    module: str | None = None
    singly: bool = False

    def get(self, key: object) -> Value:
        """The value under a constant key."""
        for known, value in self.items:
            if type(known) is type(key) and known == key:
                return value
        return self.rest

    def lacks(self, key: object) -> bool:
        """Whether there is certainly nothing under a constant key."""
        return self.complete and not any(type(known) is type(key) and known == key for known, _ in self.items)

    def put(self, key: object, value: Value) -> DictObject:
        """The dict after storing a value under a constant key."""
        if len(self.items) >= LARGEST_DISPLAY and self.get(key) is UNKNOWN:
            return DictObject((), UNKNOWN, False, self.module)
        return replace(self, items=tuple((dict(self.items) | {key: value}).items()))

    def put_somewhere(self, value: Value) -> DictObject:
        """The dict after storing a value under a key that is not known."""
        items = tuple((key, join_values(item, value)) for key, item in self.items)
        rest = value if self.complete else join_values(self.rest, value)
        return DictObject(items, rest, False, self.module)

    def put_default(self, key: object, value: Value) -> DictObject:
        """The dict after `setdefault(key, value)`; None is a key that is not known. A value that is there stays."""
        if self.complete and key is not None:
            return self.put(key, value) if self.lacks(key) else self
        if key is not None and any(type(known) is type(key) and known == key for known, _ in self.items):
            return self
        return replace(self, rest=value if self.complete else join_values(self.rest, value), complete=False)

    def each(self) -> Value:
        """One value that covers every element."""
        every = [item for _, item in self.items] + ([] if self.complete else [self.rest])
        return summary(ListObject(tuple(every)))

    def without(self, key: object) -> DictObject:
        """The dict after a constant key was taken out."""
        return replace(self, items=tuple(item for item in self.items if item[0] != key))


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer, which keeps a state of its own for the parameters of modules.

    Attributes:
        cls: its canonical class name: `torch.optim.Adam`.
        modules: whose parameters it was given; None when that is not known.
        state: where its state is: Unreached before it has any.
        origin: what made the state.
    """

    cls: str
    modules: tuple[Value, ...] | None
    state: Device
    origin: Origin | None = field(default=None, compare=False)


Object: TypeAlias = LibraryObject | Instance | ListObject | DictObject | Optimizer


def held_by(thing: Object) -> Iterable[Value]:
    """What an object holds: elements, attributes, parts."""
    match thing:
        case ListObject(items=items, rest=rest):
            return (rest,) if items is None else items
        case DictObject(items=pairs, rest=rest):
            return (rest, *(item for _, item in pairs))
        case Instance(attributes=attributes):
            return [stored for _, stored in attributes]
        case LibraryObject(parts=parts):
            return [part for _, part in parts]
        case Optimizer(modules=modules):
            return modules or ()


def either_optimizer(one: Optimizer, other: Optimizer) -> Optimizer:
    """One of two: of one that keeps no state, or whose parameters are not known, there is nothing to say."""
    if one.modules is None:
        return other
    modules = one.modules if other.modules in (None, one.modules) else None
    state = one.state if other.modules is None else join_devices(one.state, other.state)
    return Optimizer(one.cls, modules, state, one.origin)


LARGEST_DISPLAY = 32
"""Containers with more elements than this are summarised, which keeps joins cheap."""


def join(left: Object, right: Object) -> Object | None:
    """The least object above both; None when they are not of a kind, so that the heap forgets the object."""
    if left is right or left == right:
        return left
    match left, right:
        case LibraryObject(), LibraryObject() if left.cls == right.cls:
            theirs = dict(right.parts)
            parts = tuple((name, join_values(part, theirs[name])) for name, part in left.parts if name in theirs)
            return replace(left, device=join_devices(left.device, right.device), parts=parts)
        case Instance(), Instance():
            return left.joined(right)
        case ListObject(), ListObject() if left.module == right.module:
            if left.items == () or right.items == ():
                # No element says nothing against the elements of the other side.
                filled = right if left.items == () else left
                return ListObject(None, summary(filled), left.module, filled.first)
            if left.items is not None and right.items is not None and len(left.items) == len(right.items):
                return ListObject(tuple(map(join_values, left.items, right.items)), left.rest, left.module)
            return ListObject(None, join_values(summary(left), summary(right)), left.module)
        case DictObject(), DictObject() if left.module == right.module:
            others = dict(right.items)
            pairs = []
            for key, value in left.items:
                # A key that one side lacks is covered by its `rest`, unless that side is known to have no others.
                other = others.pop(key, None if right.complete else right.rest)
                pairs.append((key, value if other is None else join_values(value, other)))
            for key, value in others.items():
                pairs.append((key, value if left.complete else join_values(value, left.rest)))
            # Where there are no other keys, nothing is said of what they hold.
            rests = [side.rest for side in (left, right) if not side.complete]
            rest = UNKNOWN if not rests else rests[0] if len(rests) == 1 else join_values(left.rest, right.rest)
            return DictObject(tuple(pairs), rest, left.complete and right.complete, left.module)
        case Optimizer(), Optimizer() if left.cls == right.cls:
            modules = left.modules if left.modules == right.modules else None
            return Optimizer(left.cls, modules, join_devices(left.state, right.state), left.origin)
        case _:
            return None


def summary(container: ListObject) -> Value:
    """One value that covers every element."""
    if container.items is None:
        return container.rest
    if not container.items:
        return UNKNOWN
    result = container.items[0]
    for item in container.items[1:]:
        result = together(result, item)
    return result


class Heap(MutableMapping[ObjectId, Object]):
    """The state of every object: what a body has changed, above what it has found.

    The heap below does not change while one above it is in use. Copies, joins and comparisons of heaps above the same
    one look at what was changed only, so they do not become slower with all that a file holds.
    """

    __slots__ = ("_below", "_own", "_strayed")

    def __init__(self, objects: Mapping[ObjectId, Object] | None = None, *, below: Heap | None = None) -> None:
        self._own: dict[ObjectId, Object | None] = {} if objects is None else {**objects}
        self._below = below
        self._strayed: tuple[ObjectId, ...] | None = None

    def above(self) -> Heap:
        """A heap for a body that finds this one; this one must not change until that has been executed."""
        self._strayed = None
        return Heap(below=self)

    def take(self, inner: Heap) -> Heap:
        """The heap after a body that began with `above` has left `inner`."""
        if inner._below is not self:
            return inner
        self._own.update(inner._own)
        return self

    def copy(self) -> Heap:
        """A heap of one's own, equal to this one."""
        copy = Heap(below=self._below)
        copy._own = self._own.copy()
        return copy

    def get(self, identity: ObjectId, default: Object | None = None) -> Object | None:  # type: ignore[override]
        """The state of an object, None if nothing is known of it."""
        held = self._own.get(identity)
        if held is None and self._below is not None and identity not in self._own:
            return self._below.get(identity)
        return held

    def __getitem__(self, identity: ObjectId) -> Object:
        held = self.get(identity)
        if held is None:
            raise KeyError(identity)
        return held

    def __setitem__(self, identity: ObjectId, held: Object) -> None:
        self._own[identity] = held

    def __delitem__(self, identity: ObjectId) -> None:
        self._own[identity] = None

    def __iter__(self) -> Iterator[ObjectId]:
        for identity in self._below or ():
            if identity not in self._own:
                yield identity
        for identity, held in self._own.items():
            if held is not None:
                yield identity

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, identity: object) -> bool:
        return isinstance(identity, ObjectId) and self.get(identity) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Heap):
            return dict(self) == other
        return all(self.get(identity) == other.get(identity) for identity in self.unlike(other))

    __hash__ = None  # type: ignore[assignment]

    def changed(self) -> Iterator[tuple[ObjectId, Object]]:
        """The objects that the body has made or changed."""
        for identity, held in self._own.items():
            if held is not None:
                yield identity, held

    def unlike(self, other: Heap) -> Collection[ObjectId]:
        """The objects that the two may hold differently."""
        if self._below is not other._below:
            return self.keys() | other.keys()
        own, theirs = self._own, other._own
        if all(map(is_, own, theirs)) and not any(map(is_, own.values(), repeat(None))):
            # One was made from the other, or both from a third: compared without a step of Python for each object.
            found = list(compress(own, map(is_not, own.values(), theirs.values())))
            return found + [*islice(own, len(theirs), None), *islice(theirs, len(own), None)]
        found = [identity for identity, held in own.items() if theirs.get(identity) is not held or held is None]
        if found or len(own) != len(theirs):
            found += [identity for identity in theirs if identity not in own]
        return found

    def strayed(self) -> Iterator[ObjectId]:
        """The instances with an attribute that on some path is a stray."""
        for identity, held in self._own.items():
            if isinstance(held, Instance) and has_stray(held):
                yield identity
        if self._below is not None:
            if self._below._strayed is None:
                self._below._strayed = tuple(self._below.strayed())
            for identity in self._below._strayed:
                if identity not in self._own:
                    yield identity


def has_stray(held: Instance) -> bool:
    """Whether an attribute of an instance is a stray on some path."""
    return any(cpu_on_one_path(value) is not None for _, value in held.stored)


def join_heaps(left: Heap, right: Heap) -> Heap:
    """Pointwise join; an object that exists on one side only is as that side has it."""
    result = left.copy()
    for identity in left.unlike(right):
        ours, theirs = left.get(identity), right.get(identity)
        if ours is theirs or theirs is None:
            continue
        both = theirs if ours is None else join(ours, theirs)
        if both is None:
            del result[identity]
        else:
            result[identity] = both
    return result
