"""What a summary has to know of the arguments of a call, and which arguments it cannot know: the caller's objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index.classes import read_in
from devlint.analysis.interpreter.bodies import annotated
from devlint.analysis.summary.substitution import abstract
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.narrowing import choice
from devlint.domain.device import UNKNOWN_DEVICE, Concrete
from devlint.domain.environment import Environment
from devlint.domain.given_object import Known, PassedObject
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject
from devlint.domain.place import AccessPath, named
from devlint.domain.summary import Held
from devlint.domain.value import (
    UNKNOWN,
    BoundMethod,
    Closure,
    Constant,
    Kind,
    MaybeNone,
    Method,
    Opaque,
    PartialCall,
    Predicate,
    Reference,
    Super,
    Tensor,
    TupleValue,
    Unknown,
    UserClass,
    Value,
    is_same_everywhere,
)
from devlint.torchlib.knowledge import TENSOR_NAMES


def is_exact(value: Value) -> bool:
    """Whether a value is a tensor on a known device."""
    return isinstance(value, Tensor) and isinstance(value.device, Concrete)


def entry_of(frame: Frame, env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue]) -> dict[str, Held]:
    """What a summary has to know of the arguments; parameters that are not given have their defaults."""
    entry: dict[str, Held] = {}
    for name, given in bound.items():
        place, keywords = named(name), _keywords(env, closure, name, given.value)
        if keywords is None:
            entry[name] = abstract(frame, place, given.value)
        else:
            items = tuple((key, abstract(frame, place.item(key), part)) for key, part in keywords.items)
            entry[name] = replace(keywords, items=items)
    for parameter in closure.function.parameters:
        value = entry.get(parameter.name)
        if isinstance(value, Opaque) and value.kind is Kind.ANY:
            declared = annotated(frame, closure.globals, parameter.annotation)
            if declared and declared <= TENSOR_NAMES:
                entry[parameter.name] = replace(value, kind=Kind.TENSOR)
    for name, default in closure.defaults:
        if name not in entry:
            entry[name] = default if is_same_everywhere(default) else UNKNOWN
    return entry


def own_object_of(
    frame: Frame, env: Environment, closure: Closure, owner: UserClass | None, bound: Mapping[str, ArgumentValue]
) -> PassedObject | None:
    """The object whose method a call calls, if a summary may know the attributes that the method reads; else None."""
    parameters = closure.function.parameters
    if owner is None or not parameters or parameters[0].name not in bound:
        return None
    place, value = named(parameters[0].name), bound[parameters[0].name].value
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    if not isinstance(held, Instance):
        return None

    def known(path: AccessPath, part: Value) -> Known | None:
        if isinstance(part, Reference) and part.object not in env.heap:
            return UNKNOWN
        if _stays(env, part) or isinstance(part, Reference):
            return _elements(path, part)
        kept = abstract(frame, path, part)
        # A caller that does not know a device knows no more behind the call.
        if isinstance(part, (Tensor, Opaque)) and part.device == UNKNOWN_DEVICE and isinstance(kept, (Tensor, Opaque)):
            return replace(kept, device=UNKNOWN_DEVICE)
        return part if part == UNKNOWN else kept

    def _elements(path: AccessPath, part: Value) -> ListObject | DictObject | None:
        match env.heap.get(part.object) if isinstance(part, Reference) else None:
            case ListObject(tuple(items), first=None, module=None, owner=None) as held:
                elements = _values(known(path.item(index), item) for index, item in enumerate(items))
                return None if elements is None else replace(held, items=elements)
            case DictObject(items, module=None) as held if not held.items or held.complete:
                elements = _values(known(path.item(key), item) for key, item in items)
                keys = (key for key, _ in items)
                return None if elements is None else replace(held, items=tuple(zip(keys, elements, strict=True)))
            case _:
                return None

    passed = PassedObject(held, place, known)
    return None if any(map(passed.stays, read_in(closure.function))) else passed


def _values(elements: Iterable[Known | None]) -> tuple[Value, ...] | None:
    """Elements as values; None if one of them stays with the caller, or is a list or dict itself."""
    found: list[Value] = []
    for element in elements:
        if element is None or isinstance(element, (ListObject, DictObject)):
            return None
        found.append(element)
    return tuple(found)


def stays_with_caller(env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue]) -> bool:
    """Whether a call passes something that a summary cannot take, since it means something in this execution only.

    That is an object, which the called function may change, or a function or method that knows a value of this
    execution. A dict for `**name` belongs to the called function, so only its values count.
    """
    return any(
        _stays(env, given.value) for name, given in bound.items() if _keywords(env, closure, name, given.value) is None
    )


def _stays(env: Environment, value: Value) -> bool:
    match value:
        case Reference(identity):
            return isinstance(env.heap.get(identity), (Instance, LibraryObject, ListObject, DictObject))
        case TupleValue(items):
            return any(_stays(env, item) for item in items)
        case MaybeNone(present):
            return _stays(env, present)
        case Method():
            return not is_plain_method(value)
        case Closure() | BoundMethod() | Super() | PartialCall():
            return not is_same_everywhere(value)
        case _:
            return False


def is_plain_method(value: Value) -> bool:
    """Whether a value is an attribute of something unknown, which a summary need not know unless it is called."""
    if not isinstance(value, Method) or choice(value.name) != Predicate():
        return False
    return isinstance(value.receiver, (Unknown, Opaque, Constant)) or is_plain_method(value.receiver)


def _keywords(env: Environment, closure: Closure, name: str, value: Value) -> DictObject | None:
    """The dict that a call has made for `**name`, if it holds nothing that stays with the caller."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    parameters = closure.function.parameters
    if not isinstance(held, DictObject) or parameters[-1].kind != "kwargs" or parameters[-1].name != name:
        return None
    return None if any(_stays(env, part) for _, part in held.items) else held


def knows_its_maker(closure: Closure) -> bool:
    """Whether a function reads a name of the functions around it that means something in their execution only."""
    return not all(is_same_everywhere(value) for _, value in closure.enclosing)
