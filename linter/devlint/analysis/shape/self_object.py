"""What `self` is when nobody has made it.

A method is analysed for an instance of which only its class is known. That instance is what `__init__` leaves
behind, with every registered part moved to a device variable of its own, `self.fc`: a caller may have moved the
module. Plain attributes stay where `__init__` put them, for no move reaches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from devlint.analysis.execution.frame import Frame, Stored
from devlint.analysis.index import classes
from devlint.analysis.interpreter import bodies, construction
from devlint.analysis.values import modules
from devlint.analysis.values.arguments import Arguments
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, Unreached, Variable, is_symbolic
from devlint.domain.environment import Environment
from devlint.domain.heap import INHERITED, DictObject, Heap, Instance, LibraryObject, ListObject, Object
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import SELF, AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    DeviceValue,
    Kind,
    MaybeNone,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    present,
)
from devlint.frontend.ir import Span
from devlint.records import dataclass
from devlint.torchlib.knowledge import PARAMETERS

Where: TypeAlias = tuple[str, Span]
"""A file, and a stretch of it."""


@dataclass(frozen=True, slots=True)
class SelfObject:
    """An instance of which only the class is known.

    Attributes:
        heap: what it lives in.
        checked: `__init__` makes sure that there is an accelerator.
        initial: what `__init__` leaves in the attributes that other methods store, too.
    """

    value: Reference
    heap: Heap
    checked: bool
    initial: Mapping[str, Value]


def generic(frame: Frame, cls: UserClass, *, moved: bool) -> SelfObject:
    """An instance after `__init__`.

    `moved`: its registered parts are where a caller has moved them, not where `__init__` puts them.
    """
    identity = ObjectId.generic(cls.globals.file, cls.name)
    start = Environment(default=frame.program.default_of(cls.globals))
    start.heap[identity] = classes.blank(cls, start.default)
    self_value = Reference(identity)
    found = classes.find(cls, "__init__")
    heap, checked = start.heap, False
    if found is None:
        anything = Arguments((), (), exact=False)
        construction.inherit(frame, start, self_value, None, anything, cls.span or frame.scope.span)
    if found is not None and isinstance(found[0], Closure):
        init, owner = found
        assert isinstance(init, Closure)
        parameters = init.function.parameters
        if parameters:
            names = bodies.parameter_values(frame, init, owner, {parameters[0].name: self_value}, True)
            outcome = bodies.run(frame, init, owner, names, start, site=f"{identity.site}>")
            if outcome.env is not None:
                heap, checked = outcome.env.heap, outcome.env.checked
    if not moved:
        return SelfObject(self_value, heap, checked, {})
    held = heap.get(identity)
    if not isinstance(held, Instance):
        held = Instance(cls, open=True)
    # What `__init__` registers moves with the module, whoever stores it later.
    elsewhere = classes.other_stores(cls, besides="__init__") - (held.registered if classes.is_module(cls) else set())
    initial = {name: value for name, value in held.attributes if name in elsewhere}
    kept = replace(held, attributes=tuple(item for item in held.attributes if item[0] not in elsewhere))
    heap[identity] = _surrounded(frame, heap, kept, {name: Opaque(SELF.attribute(name)) for name in sorted(elsewhere)})
    return SelfObject(self_value, heap, checked, initial)


def with_later(
    frame: Frame, generic: SelfObject, later: Mapping[str, Stored], objects: Mapping[ObjectId, Object]
) -> SelfObject:
    """The same where more is known of attributes that other methods store; `objects` are those they made."""
    heap = generic.heap.above()
    heap.update(objects)
    held = heap[generic.value.object]
    assert isinstance(held, Instance)
    known = {name: stored.value for name, stored in later.items()}
    others = {name: value for name, value in held.attributes if name not in known}
    registered = frozenset(name for name, stored in later.items() if stored.registered)
    only = replace(held, attributes=tuple(known.items()), registered=registered)
    found = _surrounded(frame, heap, only, others)
    heap[generic.value.object] = replace(found, registered=held.registered - known.keys() | registered)
    return replace(generic, heap=heap)


def _surrounded(frame: Frame, heap: Heap, held: Instance, others: Mapping[str, Value]) -> Instance:
    """An instance as its methods find it; `others` are further attributes of which that is known already."""
    movable = classes.is_module(held.cls)
    own_way = classes.moves_itself(held.cls) or (not movable and (held.open or _is_mixed_in(frame, held.cls)))
    places, defined = dict(held.places), (held.cls.globals.file, held.cls.span or Span(1, 0, 1, 0))
    attributes: list[tuple[str, Value]] = []
    moved: dict[Origin, Value] = {}
    for name, value in held.attributes:
        place = _inside(SELF, name)
        if value == UNKNOWN:
            value = Opaque(place)
        elif name == "device" and classes.knows_device(held.cls):
            value = DeviceValue(Variable(place), True)
        elif name in held.registered and movable:
            before, value = value, _follow(heap, value, place, places.get(name, defined), set())
            modules.note_moved(moved, before, value)
        elif own_way and isinstance(value, Tensor):
            value = Opaque(place)
        elif isinstance(value, Opaque) and value.path.is_fresh:
            # Whatever `__init__` has found, it is the same thing from now on; on the host, an array stays there.
            value = replace(value, path=place) if value.kind is Kind.ARRAY else Opaque(place, value.kind)
        elif isinstance(value, Opaque) and not value.path.has_attribute:
            # What `__init__` was given is no parameter of this method.
            value = replace(
                value, path=place, device=Variable(place) if value.kind is not Kind.TENSOR else UNKNOWN_DEVICE
            )
        elif classes.moves_itself(held.cls):
            modules.may_move(frame, Environment(heap=heap), (value,), set())
        elif isinstance(there := present(value), Reference) and (held.open or not movable):
            _let_follow(frame, heap, there)
        else:
            value = _settled(value)
        attributes.append((name, value))
    modules.share_parameters(heap, held, moved)
    return replace(held, attributes=(*attributes, *others.items()))


def _is_mixed_in(frame: Frame, cls: UserClass) -> bool:
    """Whether a module inherits from an ordinary class: it moves what the methods of that class register."""
    return any(map(classes.is_module, frame.program.heirs(cls)))


def _let_follow(frame: Frame, heap: Heap, value: Reference) -> None:
    """A module that an object holds may be moved by whoever uses the object, unless a part of it is not on the CPU.

    That is so for an ordinary object, and for a module that registers more than can be seen.
    """
    env = Environment(heap=heap)
    inner = heap.get(value.object)
    if isinstance(inner, ListObject) and inner.module is None:
        for item in inner.items or (inner.rest,):
            if isinstance(item, Reference) and item != value:
                _let_follow(frame, heap, item)
    devices = {one for one, _ in modules.state(frame, env, value)} if modules.is_module(frame, env, value) else set()
    # What a wrapper of a library holds does not count as unknown for the sake of the wrapper.
    elsewhere = set() if isinstance(inner, LibraryObject) else {UNKNOWN_DEVICE}
    if CPU in devices and devices - elsewhere == {CPU}:
        modules.place_object(frame, env, value, UNKNOWN_DEVICE, None)


def _settled(value: Value) -> Value:
    """A plain attribute as a method finds it: where it follows a parameter of `__init__`, nothing is known."""
    if isinstance(value, Tensor) and is_symbolic(value.device):
        return replace(value, device=UNKNOWN_DEVICE)
    if isinstance(value, TupleValue):
        return TupleValue(tuple(map(_settled, value.items)))
    if isinstance(value, MaybeNone):
        return MaybeNone(_settled(value.present))
    return value


def _follow(heap: Heap, value: Value, place: AccessPath, where: Where, seen: set[ObjectId]) -> Value:
    """Puts a registered part, and all that is registered in it, on device variables named after their places.

    `where` in the program it is registered.
    """
    match value:
        case MaybeNone():
            return MaybeNone(_follow(heap, value.present, place, where, seen))
        case Tensor():
            return replace(value, device=_variable(place, value.device), origin=_story(place, value.origin))
        case Opaque():
            made = value.kind is Kind.MODULE and value.path.is_fresh  # here, and not by the caller
            device = Variable(place) if made else _variable(place, value.device)
            path = value.path if made else place
            return replace(value, path=path, device=device, origin=_story(place, value.origin))
        case Reference() if value.object not in seen:
            seen.add(value.object)
            held = heap.get(value.object)
            match held:
                case LibraryObject():
                    parts = tuple(
                        (name, _follow(heap, part, place.attribute(name), where, seen)) for name, part in held.parts
                    )
                    device = _variable(place, held.device)
                    heap[value.object] = replace(held, device=device, parts=parts, origin=_story(place, held.origin))
                case Instance():
                    stored = tuple(
                        (
                            name,
                            _follow(heap, part, _inside(place, name), where, seen) if name in held.registered else part,
                        )
                        for name, part in held.attributes
                    )
                    heap[value.object] = replace(held, attributes=stored)
                case ListObject() if held.module is not None:
                    if held.items:
                        items = tuple(
                            _part(heap, held, it, place.item(i), where, seen) for i, it in enumerate(held.items)
                        )
                        heap[value.object] = replace(held, items=items)
                    else:  # an empty one is filled by somebody
                        rest = _part(heap, held, held.rest, place.each(), where, seen)
                        heap[value.object] = replace(held, items=None, rest=rest)
                case DictObject() if held.module is not None:
                    pairs = tuple((key, _part(heap, held, it, place.item(key), where, seen)) for key, it in held.items)
                    rest = _part(heap, held, held.rest, place.each(), where, seen)
                    complete = held.complete and bool(held.items)
                    heap[value.object] = replace(held, items=pairs, rest=rest, complete=complete)
                case _:
                    pass
            return value
        case _:
            return value


def _inside(place: AccessPath, name: str) -> AccessPath:
    """The place of an attribute; what an object inherits is the object itself."""
    return place if name == INHERITED else place.attribute(name)


def _part(
    heap: Heap, holder: ListObject | DictObject, value: Value, place: AccessPath, where: Where, seen: set[ObjectId]
) -> Value:
    """An element of a module that holds others: one of which nothing is known is a part of the module all the same."""
    if value != UNKNOWN:
        return _follow(heap, value, place, where, seen)
    if holder.module in PARAMETERS:
        return Tensor(Variable(place), None, TensorRole.PARAMETER, _moves_along(place, where))
    return Opaque(place, Kind.MODULE, Variable(place), _moves_along(place, where))


def _variable(place: AccessPath, device: Device) -> Device:
    """Where a part is once the whole module has been moved, wherever `__init__` has put it."""
    return device if isinstance(device, Unreached) else Variable(place)


def _story(place: AccessPath, origin: Origin | None) -> Origin | None:
    if origin is None:
        return None
    if origin.kind is OriginKind.PARAMETER:
        what = f"the module registers this argument as `{place}`, so `{place}` moves with the module"
        return Origin(what, origin.file, origin.span, OriginKind.MODULE)
    return _moves_along(place, (origin.file, origin.span))


def _moves_along(place: AccessPath, where: Where) -> Origin:
    return Origin(f"`{place}` is part of the module and moves with it", *where, OriginKind.MODULE)
