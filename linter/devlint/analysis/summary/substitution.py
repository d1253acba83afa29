"""Between a summary and its callers: what an entry keeps of the arguments, and what puts the caller's values back.

Device variables of a summary are named after places: `x`, `batch['image']`, `self.fc`. A call looks the place up
among its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import reduce

from devlint.analysis.execution.frame import Frame, is_moved
from devlint.analysis.findings import unregistered_tensor
from devlint.analysis.values import containers, devices, operands, partial_batch_move
from devlint.analysis.values import objects as objects_of_calls
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.modules import (
    device_of_unknown_parts,
    device_of_whole,
    is_module,
    last_move,
    module_device,
)
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    Concrete,
    Device,
    Either,
    Unreached,
    Variable,
    join,
    opened,
    variables_of,
)
from devlint.domain.environment import Environment
from devlint.domain.given import ANY_CONSTANT, GivenConstant, QuestionLog, given, plain, with_constants
from devlint.domain.given_object import (
    HANDED,
    OF_CLASS,
    Passed,
    PassedObject,
    Store,
    defined,
    given_instance,
    place_of_handed,
)
from devlint.domain.heap import DictObject, Heap, Instance, LibraryObject, ListObject, Object, Optimizer
from devlint.domain.heap import summary as all_of
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import SELF, AccessPath, AccessStep, Root, StepKind
from devlint.domain.provenance import CpuOnOnePath, Origin
from devlint.domain.summary import AtOperation, Entry, Held, Operand
from devlint.domain.value import (
    UNKNOWN,
    BoundMethod,
    Closure,
    Constant,
    DeviceValue,
    Host,
    Kind,
    MaybeNone,
    Method,
    ObjectId,
    Opaque,
    PartialCall,
    Predicate,
    Reference,
    Super,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    cpu_on_one_path,
    is_same_everywhere,
    maybe_none,
)
from devlint.frontend.ir import Span
from devlint.records import dataclass


def abstract(frame: Frame, place: AccessPath, value: Value) -> Value:
    """What a summary's entry says of an argument: enough to choose a path, nothing that only this caller has."""
    origin = Origin(f"`{place}` is an argument", frame.file, frame.scope.span, OriginKind.PARAMETER)
    match value:
        case Constant() | DeviceValue(device=Concrete()):
            return value
        case Tensor():
            return Tensor(Variable(place), value.rank, value.role, origin)
        case DeviceValue():
            return DeviceValue(Variable(place), True, origin)
        case TupleValue():
            return TupleValue(tuple(abstract(frame, place.item(i), part) for i, part in enumerate(value.items)))
        case Opaque():
            kind = frame.kind(value)
            if kind is Kind.TENSOR and is_moved(value):  # it is not None
                return Tensor(Variable(place), None, TensorRole.PLAIN, origin)
            return Opaque(place, kind, Variable(place), origin)
        case Predicate():
            return Predicate(known=value.known)
        case MaybeNone(held):
            return maybe_none(abstract(frame, place, held))
        case _ if value != UNKNOWN and is_same_everywhere(value):
            return plain(value)
        case _:
            return Opaque(place, Kind.ANY, Variable(place), origin)


_ANY_OBJECT = Host("object")
"""Stands for each object that a call hands over."""


def without_passed(
    closure: Closure, entry: Entry
) -> tuple[tuple[tuple[str, Held], ...], dict[AccessPath, Constant | PassedObject]]:
    """An entry with a stand-in for each constant and object that the call passes, and these by place.

    A default stays: it is the same for all calls that leave the parameter out.
    """
    defaults, taken = dict(closure.defaults), dict[AccessPath, Constant | PassedObject]()

    def take(place: AccessPath, value: Constant) -> Value:
        taken[place] = value
        return ANY_CONSTANT

    kept: list[tuple[str, Held]] = []
    for name, value in entry.items():
        if isinstance(value, PassedObject):
            taken[value.place] = value
            kept.append((name, _ANY_OBJECT))
        else:
            is_default = value is defaults.get(name)
            kept.append((name, value if is_default else _with_constants(AccessPath(name), value, take)))
    return tuple(kept), taken


def with_questions(entry: Entry, passed: Passed, questions: QuestionLog, heap: Heap) -> dict[str, Held]:
    """The entry with a `GivenConstant` in the place of each constant that a call passes; likewise with objects.

    `heap`: the one with which the body begins.
    """

    def give(place: AccessPath, value: Constant) -> Value:
        return given(value, place, questions) if place in passed else value

    return {
        name: given_instance(value, questions, heap)
        if isinstance(value, PassedObject)
        else _with_constants(AccessPath(name), value, give)
        for name, value in entry.items()
    }


def _with_constants(place: AccessPath, held: Held, change: Callable[[AccessPath, Constant], Value]) -> Held:
    """What an entry holds for a parameter with its constants changed; in dicts, those of the values."""
    match held:
        case DictObject(items):
            return replace(held, items=tuple((key, with_constants(place.item(key), one, change)) for key, one in items))
        case ListObject() | Instance():
            return held
        case _:
            return with_constants(place, held, change)


def handed_in(entry: Mapping[str, Held], heap: Heap) -> dict[str, Value]:
    """The values with which a body begins; what the entry brings along becomes an object of the heap."""
    bound: dict[str, Value] = {}
    for name, value in entry.items():
        if isinstance(value, (ListObject, DictObject, Instance)):
            bound[name] = handed(name)
            heap[handed(name).object] = value
        else:
            bound[name] = value
    return bound


def handed(parameter: str) -> Reference:
    """The object that an entry brings along for a parameter."""
    return Reference(ObjectId(HANDED + parameter))


@dataclass(slots=True)
class Substitution:
    """Puts a caller's values in the place of a summary's variables.

    Attributes:
        calls_module: a module is called, and meets its inputs.
        keeps_computed: the summary stores in an object of the caller, which may keep what the callee has computed.
        mended: by argument, where its parts on the CPU would be, and why, if their conflict in this call were repaired.
    """

    frame: Frame
    env: Environment
    bound: Mapping[str, ArgumentValue]
    span: Span
    adopted: set[ObjectId]
    calls_module: bool = False
    keeps_computed: bool = False
    mended: dict[str, tuple[Device, Origin | None]] = field(default_factory=dict)

    def lookup(self, path: AccessPath) -> Value:
        """The caller's value for a path such as `batch['x']` or `self.fc`, where it is not None."""
        given = self.bound.get(path.root_name)
        if given is None:
            return UNKNOWN
        value, place = given.value, given.place
        for step in path.steps:
            value, place = self._step(value.present if isinstance(value, MaybeNone) else value, step, place), None
        return value.present if isinstance(value, MaybeNone) else value

    def _step(self, value: Value, step: AccessStep, place: AccessPath | None) -> Value:
        if step.kind is StepKind.CALL:
            return UNKNOWN
        if step.kind is StepKind.ATTRIBUTE:
            held = self.env.heap.get(value.object) if isinstance(value, Reference) else None
            if isinstance(held, Instance):
                found = held.cls if step == OF_CLASS else held.get(str(step.key))
                if found is None and objects_of_calls.may_have_more(held):
                    return objects_of_calls.unseen_attribute(held, str(step.key), place)
                return UNKNOWN if found is None else found
            if isinstance(value, UserClass):
                of_class = defined(value, str(step.key))
                return UNKNOWN if of_class is None else of_class[0]
            if isinstance(value, Opaque):
                return containers.element(self.frame, value, step)
            return UNKNOWN
        if isinstance(value, Tensor):
            return containers.row(value)
        held = self.env.heap.get(value.object) if isinstance(value, Reference) else None
        if step.kind is StepKind.EACH and isinstance(held, DictObject) and held.module is not None:
            return held.each()
        if step.kind is StepKind.EACH:
            each = containers.elements_of(self.frame, self.env, value)
            return each.each if each.few is None else all_of(ListObject(each.few))
        key = Constant(step.key) if type(step.key) in (str, int) else UNKNOWN
        return containers.subscript(self.frame, self.env, value, key, self.span)

    def device(self, device: Device) -> Device:
        """A device of the summary as the caller sees it."""
        if isinstance(device, Either):
            if not device.variables:
                return UNKNOWN_DEVICE
            joined = reduce(join, map(self.device, device.variables))
            return opened(joined) if device.open else joined
        if not isinstance(device, Variable):
            return device
        if self._keeps and device.place.is_fresh:
            return Variable(device.place.made_by_call(*self._position))
        found = self._found(device)
        return self.mended[device.root][0] if found == CPU and device.root in self.mended else found

    def _found(self, device: Variable) -> Device:
        """Where the caller's value is."""
        value = self.lookup(device.place)
        if value == UNKNOWN and device.place.is_each:
            whole = self.lookup(device.place.parent)
            value = whole if is_module(self.frame, self.env, whole) else value
        match value:
            case Tensor() | Opaque() | DeviceValue():
                return operands.resolve(self.env, value.device)
            case Constant(is_text=True):
                return devices.named(value)
            case Reference():
                ask = device_of_unknown_parts if device.place == SELF else device_of_whole
                there = ask(self.frame, self.env, value)
                return UNKNOWN_DEVICE if isinstance(there, Unreached) else there
            case _:
                return UNKNOWN_DEVICE

    @property
    def calls_own_method(self) -> bool:
        """Whether an object of the program calls a method of its own; the object is the first argument."""
        first = next(iter(self.bound.values()), None)
        value = None if first is None or self.calls_module else first.value
        return isinstance(value, Reference) and isinstance(self.env.heap.get(value.object), Instance)

    def is_own_object(self, parameter: Root) -> bool:
        """Whether a parameter has the object whose method is called."""
        return self.calls_own_method and next(iter(self.bound)) == str(parameter)

    @property
    def _position(self) -> tuple[int, int]:
        return self.span.line, self.span.column

    def origin_of(self, device: Device, origin: Origin | None) -> Origin | None:
        """The caller's story for a value that came from it."""
        variable = decisive(device)
        if variable is None:
            return origin
        if self.keeps_computed and origin is not None and origin.kind is not OriginKind.PARAMETER:
            because = origin.because
            if because is not None and because.kind is OriginKind.PARAMETER:
                because = self._story(variable, because)
            return replace(origin, because=because)
        return self._story(variable, origin)

    def _story(self, variable: Variable, origin: Origin | None) -> Origin | None:
        if variable.root in self.mended and self._found(variable) == CPU:
            return self.mended[variable.root][1]
        value = self.lookup(variable.place)
        if isinstance(value, (Tensor, Opaque, DeviceValue)):
            knows_none = value.origin is None and origin is not None and origin.kind is not OriginKind.PARAMETER
            return origin if knows_none else value.origin
        if isinstance(value, Reference):
            moved = last_move(self.env, value) if variable.place == SELF else None
            return module_device(self.frame, self.env, value)[1] if moved is None else moved[1]
        return origin

    def _stray(self, value: Tensor) -> CpuOnOnePath | None:
        """How a result is created on the CPU on a path of the caller's: as the argument is that it follows.

        What the callee has created on a path of its own meets nothing here: what it was given has chosen the path.
        """
        given = self.lookup(value.device.place) if isinstance(value.device, Variable) else UNKNOWN
        stray = cpu_on_one_path(given)
        if stray is None:
            return None
        return replace(stray, rank=value.rank)

    def value(self, value: Value, objects: dict[ObjectId, Object]) -> Value:
        """A value of the summary as the caller sees it; objects made by the callee become the call's."""
        match value:
            case Tensor():
                origin, stray = self.origin_of(value.device, value.origin), self._stray(value)
                return replace(value, device=self.device(value.device), origin=origin, stray=stray)
            case GivenConstant():
                return self.lookup(value.place)
            case Opaque() if value.path.is_fresh and (self._keeps or not value.path.is_returned):
                return self._computed(value)
            case Opaque():
                if value.path.is_returned:
                    path = self._path(value.path).called_at(*self._position)
                    return replace(value, path=path, device=self.device(value.device))
                found = self.lookup(value.path)
                if isinstance(value.device, Variable) and value.device.place == value.path:
                    return found
                if found is UNKNOWN:
                    return UNKNOWN
                path = found.path if isinstance(found, Opaque) else value.path
                return replace(value, path=path, device=self.device(value.device))
            case DeviceValue():
                origin = self.origin_of(value.device, value.origin)
                return replace(value, device=self.device(value.device), origin=origin)
            case TupleValue():
                return TupleValue(tuple(self.value(item, objects) for item in value.items))
            case MaybeNone():
                return maybe_none(self.value(value.present, objects))
            case Closure(defaults=defaults, enclosing=enclosing) if defaults or enclosing:
                return replace(
                    value, defaults=self._named(defaults, objects), enclosing=self._named(enclosing, objects)
                )
            case PartialCall(function, arguments, keywords):
                positional = tuple(self.value(item, objects) for item in arguments)
                return PartialCall(self.value(function, objects), positional, self._named(keywords, objects))
            case Method(receiver, name):
                return Method(self.value(receiver, objects), name)
            case BoundMethod(function, receiver):
                return replace(value, receiver=self.value(receiver, objects))
            case Super(receiver):
                return replace(value, receiver=self.value(receiver, objects))
            case Reference() if value.object in objects:
                return self.adopt(value.object, objects)
            case Reference():
                place = place_of_handed(value.object)
                return UNKNOWN if place is None else self.lookup(place)
            case _:
                return value

    @property
    def _keeps(self) -> bool:
        """Whether an object of the caller holds something that the callee has computed."""
        return self.keeps_computed or bool(self.adopted)

    def store(
        self, stores: tuple[Store, ...], escaped: Collection[AccessPath], objects: dict[ObjectId, Object]
    ) -> None:
        """Store in the objects of the caller what the callee has stored in them."""
        values = [self.value(one.value, objects) for one in stores]
        for place in escaped:
            objects_of_calls.escape(self.env, self.lookup(place))
        for one, value in zip(stores, values, strict=True):
            target = self.lookup(one.place)
            held = self.env.heap.get(target.object) if isinstance(target, Reference) else None
            assert isinstance(target, Reference)
            assert isinstance(held, Instance)
            self.env.heap[target.object] = held.put(one.name, value, registered=one.registered, where=one.where)

    def _named(
        self, held: tuple[tuple[str, Value], ...], objects: dict[ObjectId, Object]
    ) -> tuple[tuple[str, Value], ...]:
        return tuple((name, self.value(value, objects)) for name, value in held)

    def _path(self, path: AccessPath) -> AccessPath:
        """The path of a result of a method, as it leads on from the value of the caller."""
        call = next(index for index, step in enumerate(path.steps) if step.kind is StepKind.CALL)
        found = self.lookup(AccessPath(path.root, path.steps[:call]))
        return AccessPath(path.root, path.steps[call:]).rooted_at(found.path) if isinstance(found, Opaque) else path

    def _computed(self, value: Opaque) -> Value:
        """A value that the callee has got from something that it cannot follow, if the callee knows its device.

        A module that the caller was given as an argument does not tell the device: it may be on the CPU for good. With
        an object of the callee, the value is kept in any case, since the object may hold it.
        """
        device = self.device(value.device)
        variable = decisive(device)
        if self._keeps or isinstance(device, Concrete) or (variable is not None and variable.root == SELF.name):
            return replace(value, path=value.path.made_by_call(*self._position), device=device)
        return UNKNOWN

    def adopt(self, identity: ObjectId, objects: dict[ObjectId, Object]) -> Reference:
        """Brings an object that the callee made into the caller's heap, under a name of this call's own."""
        mine = ObjectId(f"{self.frame.site}{self.span.line}:{self.span.column}>{identity.site}")
        if mine in self.adopted:
            return Reference(mine)  # it may be held by what it holds, and not be finished yet
        self.adopted.add(mine)
        held = objects[identity]
        match held:
            case ListObject():
                items = None if held.items is None else tuple(self.value(item, objects) for item in held.items)
                made: Object = replace(held, items=items, rest=self.value(held.rest, objects))
            case DictObject():
                pairs = tuple((key, self.value(item, objects)) for key, item in held.items)
                made = replace(held, items=pairs, rest=self.value(held.rest, objects))
            case LibraryObject():
                parts = tuple((key, self.value(item, objects)) for key, item in held.parts)
                made = replace(held, device=self.device(held.device), parts=parts)
            case Optimizer():
                modules = None if held.modules is None else tuple(self.value(item, objects) for item in held.modules)
                made = replace(held, modules=modules, state=self.device(held.state))
            case Instance():
                stored = tuple((key, self.value(item, objects)) for key, item in held.attributes)
                made = replace(held, attributes=stored)
        self.env.heap[mine] = made
        return Reference(mine)


def decisive(device: Device) -> Variable | None:
    """The variable whose story is told for a device; of several, always the same."""
    return device if isinstance(device, Variable) else min(variables_of(device), key=str, default=None)


def qualified(side: Operand, inner: Operand) -> Operand:
    """A side named after the part of the argument that it is, for when both sides are parts of one argument."""
    if not isinstance(inner.device, Variable):
        return side
    return replace(side, name=side.name + inner.device.place.behind_root)


def from_inside(side: Operand) -> Operand:
    """A side of something that a called body has found: what calls in there hand over says nothing of this call."""
    return side if side.inside is None else replace(side, inside=replace(side.inside, is_argument=False))


def side_of(substitution: Substitution, side: Operand, span: Span) -> Operand:
    """One side of a summary's requirement with the caller's value in its place."""
    variable = decisive(side.device)
    if variable is None:
        return from_inside(side)
    device = substitution.device(side.device)
    origin = substitution.origin_of(side.device, side.origin)
    given = substitution.bound.get(variable.root)
    value = substitution.lookup(variable.place)
    rank = value.rank if isinstance(value, Tensor) and side.rank is None else side.rank
    if given is not None and variable.place.steps and substitution.is_own_object(variable.root):
        # A part of the object whose method is called has the name that the method gives it.
        stray, batch = cpu_on_one_path(value), partial_batch_move.batch_of(value)
        return replace(side, device=device, origin=origin, rank=rank, stray=stray, batch=batch)
    name, where = (substitution.frame.text(given.span), given.span) if given is not None else (side.name, span)
    # What a module holds is met through the module.
    called = substitution.calls_module and variable.root == SELF.name and given is not None
    module = unregistered_tensor.holder(substitution.env, given.value) if called and given is not None else None
    file, inside = substitution.frame.file, side.inside or AtOperation(side.name, side.span, side.file)
    is_registered = module is not None and side.origin is not None and side.origin.kind is OriginKind.MODULE
    is_argument = is_registered or bool(variable.place.name)
    return replace(
        side,
        name=name,
        device=device,
        origin=origin,
        rank=rank,
        span=where,
        module=module,
        file=file,
        stray=cpu_on_one_path(value),
        batch=partial_batch_move.batch_of(value),
        inside=replace(inside, is_argument=is_argument),
    )
