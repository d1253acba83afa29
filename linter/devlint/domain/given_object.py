"""Objects that a call passes as `self`, and what the called body asks about them.

    class Base(nn.Module):
        def prepare(self, config):
            self.size = config.size
            if self.is_ready:
                self.log(config)

For a summary, the analysis executes a body with a `GivenInstance` in the place of the object of the call. To read an
attribute is to ask a question, and so is to look up a method, or to ask whether the class is that of a module. The body
of `prepare` asks for `is_ready` and perhaps for `log`. So the summary serves all objects with the same answers, even
objects of other classes. To store an attribute is to ask nothing: each call stores the attribute in its own object.

A list or dict in an attribute is answered by its elements. Some answers mean something in one execution only: a module
that an attribute holds, or all attributes at once. A body that asks for such an answer is executed with the object of
each call, and so is one that changes a list or dict in place.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from devlint.domain import given
from devlint.domain.device import Device
from devlint.domain.given import Question, QuestionLog
from devlint.domain.heap import DictObject, Heap, Instance, ListObject, forgotten
from devlint.domain.place import AccessPath, AccessStep
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Constant,
    DeviceValue,
    Field,
    Globals,
    Host,
    MaybeNone,
    ObjectId,
    Reference,
    TupleValue,
    UserClass,
    Value,
    without_cpu_path,
)
from devlint.domain.value import join as join_values
from devlint.frontend.ir import Span
from devlint.records import dataclass

P = ParamSpec("P")
R = TypeVar("R")


# --- questions ----------------------------------------------------------------------------------------------


class ObjectAspect(enum.Enum):
    """What a body asks of an object as a whole."""

    OPEN = "whether it may have more attributes than are known"
    MOVED = "whether the whole of it was moved"
    CLASS = "which class it is of"
    EVERYTHING = "all that it holds"


@dataclass(frozen=True, slots=True)
class Member:
    """The question what the attribute of an object is, if it has one of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Registered:
    """The question whether an object registers the attribute of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Defined:
    """The question what the class of an object, or a base of it, defines by that name."""

    name: str


@dataclass(frozen=True, slots=True)
class OfClass:
    """The question that a function asks about the class of an object; see `about_class`."""

    function: Callable[..., object]
    arguments: tuple[Hashable, ...]


_STAYS = Host("stays")
"""The answer that means something to the caller only."""

OF_CLASS = AccessStep.attribute("__class__")
"""Leads from an object to its class, whose attributes are not those of the object."""


def _in_class(place: AccessPath, name: str) -> AccessPath:
    return place.step(OF_CLASS).attribute(name)


Known: TypeAlias = Value | ListObject | DictObject
"""What a summary may know of an attribute: its value, or the elements of a list or dict."""


def _with_constants(place: AccessPath, known: Known, change: Callable[[AccessPath, Constant], Value]) -> Known:
    """Change the constants of an attribute, each by its place."""
    match known:
        case ListObject(items):
            every = enumerate(items or ())
            changed = tuple(given.with_constants(place.item(index), item, change) for index, item in every)
            return replace(known, items=None if items is None else changed)
        case DictObject(items):
            return replace(
                known, items=tuple((key, given.with_constants(place.item(key), item, change)) for key, item in items)
            )
        case _:
            return given.with_constants(place, known, change)


def _comparable(place: AccessPath, known: Known | None) -> object:
    if known is None:
        return None
    kept = _with_constants(place, known, lambda _, constant: given.ANY_CONSTANT)
    return (kept, known.origin) if isinstance(known, DeviceValue) else kept


def _item(known: Known | None, key: object) -> Value | None:
    """Return an element of an attribute; None if a summary does not know it."""
    match known:
        case MaybeNone(present):
            return _item(present, key)
        case TupleValue(items) | ListObject(tuple(items)) if isinstance(key, int):
            return items[key]
        case DictObject():
            return known.get(key)
        case _:
            return None


# --- the caller's side --------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class PassedObject:
    """An object that a call passes, which answers the questions of the called body.

    Attributes:
        held: its state.
        place: the parameter.
        abstract: what a summary may know of an attribute, by place and value; None if that stays with the caller.
    """

    held: Instance
    place: AccessPath
    abstract: Callable[[AccessPath, Value], Known | None]
    _members: dict[str, Known | None] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PassedObject) or self.place != other.place:
            return False
        one, two = self._first, other._first
        return one is two or one.held == two.held

    __hash__ = None  # type: ignore[assignment]

    @property
    def _first(self) -> PassedObject:
        """The same object as the first of the calls has passed it on, if nothing has changed it since."""
        held = self.held
        return held.passed._first if isinstance(held, GivenInstance) and not held.is_changed else self

    def of_class(self, name: str) -> tuple[Known | None, UserClass] | None:
        """An attribute of the class as a summary may know it, with the class that defines it; None if there is none."""
        found = defined(self.held.cls, name)
        if found is None:
            return None
        value, owner = found
        return (value if isinstance(value, Closure) else self.abstract(_in_class(self.place, name), value)), owner

    def member(self, name: str) -> Known | None:
        """An attribute as a summary may know it; None if there is none, or if it stays with the caller."""
        if name not in self._members:
            value = self.held.get(name)
            self._members[name] = None if value is None else self.abstract(self.place.attribute(name), value)
        return self._members[name]

    def stays(self, name: str) -> bool:
        """Whether there is an attribute that means something to the caller only."""
        return self.member(name) is None and self.held.get(name) is not None

    def constant(self, place: AccessPath) -> Constant:
        """The constant at a place in the object or in its class.

        The body has asked for the attribute before, and knows that this is a constant.
        """
        step, *steps = place.steps
        if step == OF_CLASS:
            name, *steps = steps
            found = self.of_class(str(name.key))
            known = None if found is None else found[0]
        else:
            known = self.member(str(step.key))
        for inner in steps:
            known = _item(known, inner.key)
        assert isinstance(known, Constant), f"{place} is no constant"
        return known

    def answer(self, asked: Hashable) -> object:
        """What the call answers to a question about the object, for comparisons."""
        match asked:
            case Member(name):
                return _STAYS if self.stays(name) else _comparable(self.place.attribute(name), self.member(name))
            case Registered(name):
                return self.held.registers(name)
            case Defined(name):
                found = self.of_class(name)
                if found is None:
                    return None
                known, owner = found
                if known is None:
                    return _STAYS
                return _comparable(_in_class(self.place, name), known), owner if isinstance(known, Closure) else None
            case OfClass(function, arguments):
                return function(self.held.cls, *arguments)
            case ObjectAspect.OPEN:
                return self.held.open
            case ObjectAspect.MOVED:
                return None if self.held.moved is None else _STAYS
            case ObjectAspect.CLASS:
                return itself(self.held.cls)
            case _:
                assert asked is ObjectAspect.EVERYTHING
                return _STAYS


Passed: TypeAlias = Mapping[AccessPath, Constant | PassedObject]
"""The constants and objects that a call passes, by place among the parameters."""


def answer(question: Question, passed: Passed) -> object:
    """Return what a call answers, for comparisons; it may not be hashable."""
    place, asked = question
    found = passed.get(place)
    if isinstance(found, PassedObject):
        return found.answer(asked)
    if found is None:
        whole = passed[AccessPath(place.root)]
        assert isinstance(whole, PassedObject)
        found = whole.constant(place)
    return given.answer(asked, found)


# --- the side of the called body ----------------------------------------------------------------------------


class GivenClass(UserClass):
    """The class of a `GivenInstance`; reading it asks about it."""

    __slots__ = ("_heap", "_passed", "_questions")

    _passed: PassedObject
    _questions: QuestionLog
    _heap: Heap

    @property
    def itself(self) -> UserClass:
        """The class as other classes know it."""
        self._questions.ask(self._passed.place, ObjectAspect.CLASS)
        return itself(self._passed.held.cls)

    def find(self, name: str) -> tuple[Value, UserClass] | None:
        """See `defined`."""
        self._questions.ask(self._passed.place, Defined(name))
        found = self._passed.of_class(name)
        if found is None:
            return None
        known, owner = found
        value = _asking(_in_class(self._passed.place, name), known, self._questions, self._heap)
        # Which class defines it matters for methods only.
        return value, owner if isinstance(value, Closure) else self

    def ask(self, function: Callable[..., R], arguments: tuple[Hashable, ...]) -> R:
        """Return what a function says of the class; see `about_class`."""
        self._questions.ask(self._passed.place, OfClass(function, arguments))
        return function(self._passed.held.cls, *arguments)

    name: str = property(lambda self: self.itself.name)  # type: ignore[assignment]
    bases: tuple[Value, ...] = property(lambda self: self.itself.bases)  # type: ignore[assignment]
    attributes: dict[str, Value] = property(lambda self: self.itself.attributes)  # type: ignore[assignment]
    globals: Globals = property(lambda self: self.itself.globals)  # type: ignore[assignment]
    self_stores: dict[str, frozenset[str]] = property(lambda self: self.itself.self_stores)  # type: ignore[assignment]
    dynamic: bool = property(lambda self: self.itself.dynamic)  # type: ignore[assignment]
    declared: tuple[Field, ...] = property(lambda self: self.itself.declared)  # type: ignore[assignment]
    is_record: bool = property(lambda self: self.itself.is_record)  # type: ignore[assignment]
    span: Span | None = property(lambda self: self.itself.span)  # type: ignore[assignment]
    lineage: tuple[Value, ...] = property(lambda self: self.itself.lineage)  # type: ignore[assignment]


def itself(cls: UserClass) -> UserClass:
    """Return a class as it is compared with others: by identity."""
    return cls.itself if isinstance(cls, GivenClass) else cls


def defined(cls: UserClass, name: str) -> tuple[Value, UserClass] | None:
    """Return an attribute of a class or of a base in the program, with the class whose body binds it."""
    if isinstance(cls, GivenClass):
        return cls.find(name)
    for item in cls.lineage:
        if isinstance(item, UserClass) and name in item.attributes:
            return item.attributes[name], item
    return None


def about_class(function: Callable[Concatenate[UserClass, P], R]) -> Callable[Concatenate[UserClass, P], R]:
    """Make a function that says something of a class, by position, one question about a `GivenClass`."""

    @wraps(function)
    def ask(cls: UserClass, /, *arguments: P.args, **keywords: P.kwargs) -> R:
        if isinstance(cls, GivenClass):
            assert not keywords
            return cls.ask(ask, arguments)
        return function(cls, *arguments, **keywords)

    return ask


@dataclass(frozen=True, slots=True)
class Store:
    """What a body has stored in an attribute of an object at a place among its parameters; see `Instance.put`."""

    place: AccessPath
    name: str
    value: Value
    registered: bool
    where: tuple[str, Span] | None


class GivenInstance(Instance):
    """An object that a call has passed; reading it asks about it.

    To copy it is to ask for everything: a copy is an `Instance`.
    """

    __slots__ = ("_cls", "_has_escaped", "_passed", "_questions", "_stores")

    _passed: PassedObject
    _questions: QuestionLog
    _cls: GivenClass
    _stores: dict[str, Store]
    _has_escaped: bool

    def __new__(cls, /, *fields: object, **named: object) -> Instance:  # type: ignore[misc]
        """Return a plain instance; `given_instance` makes the others."""
        return Instance(*fields, **named)  # type: ignore[arg-type]

    # --- without questions ----------------------------------------------------------------------------------

    @property
    def passed(self) -> PassedObject:
        """The object as the call has passed it."""
        return self._passed

    @property
    def is_changed(self) -> bool:
        """Whether the body has changed it."""
        return self._has_escaped or bool(self._stores)

    @property
    def has_escaped(self) -> bool:
        """Whether the body has passed it on to code that nobody follows."""
        return self._has_escaped

    @property
    def stores(self) -> tuple[Store, ...]:
        """What the body has stored in it."""
        return tuple(self._stores.values())

    @property
    def stored(self) -> tuple[tuple[str, Value], ...]:
        """See `Instance`."""
        return tuple((name, store.value) for name, store in self._stores.items())

    @property
    def place(self) -> AccessPath:
        """See `Instance`."""
        return self._passed.place

    # --- questions ------------------------------------------------------------------------------------------

    @property
    def cls(self) -> UserClass:
        """See `Instance`."""
        return self._cls

    @property
    def open(self) -> bool:
        """See `Instance`."""
        if self._has_escaped:
            return True
        self._questions.ask(self._passed.place, ObjectAspect.OPEN)
        return self._passed.held.open

    @property
    def moved(self) -> tuple[Device, Origin | None] | None:
        """See `Instance`."""
        self._questions.ask(self._passed.place, ObjectAspect.MOVED)
        if self._passed.held.moved is not None:
            self._questions.needs_object = True
        return None

    def get(self, name: str) -> Value | None:
        """See `Instance`."""
        store = self._stores.get(name)
        if store is not None:
            return store.value
        self._questions.ask(self._passed.place, Member(name))
        known = self._passed.member(name)
        if known is None and not self._passed.stays(name):
            return None
        value = _asking(self._passed.place.attribute(name), known, self._questions, self._cls._heap)
        return forgotten(value) if self._has_escaped else value

    def registers(self, name: str) -> bool:
        """See `Instance`."""
        store = self._stores.get(name)
        if store is not None:
            return store.registered
        self._questions.ask(self._passed.place, Registered(name))
        return self._passed.held.registers(name)

    def _of_everything(self, known: R) -> R:
        """Ask for all that it holds; the body is executed again, with the object of the call."""
        self._questions.ask(self._passed.place, ObjectAspect.EVERYTHING)
        self._questions.needs_object = True
        return known

    attributes: tuple[tuple[str, Value], ...] = property(  # type: ignore[assignment]
        lambda self: self._of_everything(self.stored)
    )
    registered: frozenset[str] = property(lambda self: self._of_everything(frozenset()))  # type: ignore[assignment]
    origin: Origin | None = property(lambda self: self._of_everything(None))  # type: ignore[assignment]
    places: tuple[tuple[str, tuple[str, Span]], ...] = property(  # type: ignore[assignment]
        lambda self: self._of_everything(())
    )

    # --- changes --------------------------------------------------------------------------------------------

    def put(self, name: str, value: Value, *, registered: bool, where: tuple[str, Span] | None = None) -> Instance:
        """See `Instance`."""
        if registered:
            value = without_cpu_path(value)
        stores = {key: store for key, store in self._stores.items() if key != name}
        stores[name] = Store(self._passed.place, name, value, registered, where)
        return self._with(stores)

    def with_stored(self, values: Mapping[str, Value]) -> Instance:
        """See `Instance`."""
        return self._with(self._revalued(values))

    def escaped(self) -> Instance:
        """See `Instance`."""
        after = self._with(self._revalued({name: forgotten(value) for name, value in self.stored}))
        after._has_escaped = True
        return after

    def joined(self, other: Instance) -> Instance | None:
        """See `Instance`."""
        if not isinstance(other, GivenInstance):
            return other.joined(self)
        assert other._passed is self._passed
        stores: dict[str, Store] = {}
        for name in dict.fromkeys((*self._stores, *other._stores)):
            values = [value for value in (self.get(name), other.get(name)) if value is not None]
            registered = self.registers(name) or other.registers(name)
            where = (self._stores.get(name) or other._stores[name]).where
            stores[name] = Store(self._passed.place, name, join_values(values[0], values[-1]), registered, where)
        both = self._with(stores)
        both._has_escaped = self._has_escaped or other._has_escaped
        return both

    def _revalued(self, values: Mapping[str, Value]) -> dict[str, Store]:
        return {
            name: Store(store.place, name, values[name], store.registered, store.where)
            for name, store in self._stores.items()
        }

    def _with(self, stores: dict[str, Store]) -> GivenInstance:
        made: GivenInstance = object.__new__(GivenInstance)
        made._passed, made._questions, made._cls = self._passed, self._questions, self._cls
        made._stores, made._has_escaped = stores, self._has_escaped
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GivenInstance):
            return NotImplemented
        mine = (self._passed, self._has_escaped, self._stores)
        return mine == (other._passed, other._has_escaped, other._stores)

    def __hash__(self) -> int:
        return hash(self._passed.place)


def given_instance(passed: PassedObject, questions: QuestionLog, heap: Heap) -> GivenInstance:
    """Return an object for the called body, which asks its `questions` by reading the object.

    `heap`: the one with which the body begins.
    """
    cls: GivenClass = object.__new__(GivenClass)
    cls._passed, cls._questions, cls._heap = passed, questions, heap
    made: GivenInstance = object.__new__(GivenInstance)
    made._passed, made._questions, made._cls = passed, questions, cls
    made._stores, made._has_escaped = {}, False
    return made


def _asking(place: AccessPath, known: Known | None, questions: QuestionLog, heap: Heap) -> Value:
    """The value of an attribute with a `GivenConstant` in the place of each constant; a list or dict as an object."""
    if known is None:
        questions.needs_object = True
        return UNKNOWN
    kept = _with_constants(place, known, lambda where, constant: given.given(constant, where, questions))
    if not isinstance(kept, (ListObject, DictObject)):
        return kept
    identity = ObjectId(f"{HANDED}{place}")
    heap[identity] = kept
    return Reference(identity)


HANDED = "handed:"
"""How the objects are called that a call brings along: `handed:kwargs`, `handed:self`, `handed:self.sizes`."""


def place_of_handed(identity: ObjectId) -> AccessPath | None:
    """The place among the parameters of an object that a call brings along; None if the body has made it."""
    return AccessPath.of_dotted(identity.site.removeprefix(HANDED)) if identity.site.startswith(HANDED) else None
