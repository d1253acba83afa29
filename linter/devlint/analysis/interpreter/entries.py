"""What a summary has to know of the arguments of a call, and which arguments it cannot know: the caller's objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.interpreter.bodies import annotated
from devlint.analysis.summary.substitution import abstract
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.device import Concrete
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject
from devlint.domain.place import named
from devlint.domain.summary import Held
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Kind,
    MaybeNone,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
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


def hands_over_objects(env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue]) -> bool:
    """Whether a call hands over an object, which its function may change; a dict for `**name` is the function's own."""
    for name, given in bound.items():
        value = given.value
        if _keywords(env, closure, name, value) is not None:
            continue
        if _is_object(env, value) or (isinstance(value, Closure) and closes_over_objects(env, value)):
            return True
        if isinstance(value, TupleValue) and any(isinstance(item, Reference) for item in value.items):
            return True
    return False


def _keywords(env: Environment, closure: Closure, name: str, value: Value) -> DictObject | None:
    """The dict that a call has made for `**name`, if it holds no objects: nothing but this call knows it."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    parameters = closure.function.parameters
    if not isinstance(held, DictObject) or parameters[-1].kind != "kwargs" or parameters[-1].name != name:
        return None
    return None if any(_holds_objects(env, part) for _, part in held.items) else held


def _holds_objects(env: Environment, value: Value) -> bool:
    match value:
        case TupleValue(items):
            return any(_holds_objects(env, item) for item in items)
        case MaybeNone(present):
            return _holds_objects(env, present)
        case Closure():
            return closes_over_objects(env, value)
        case _:
            return _is_object(env, value)


def closes_over_objects(env: Environment, closure: Closure) -> bool:
    """Whether a function reads a name of the functions around it that stands for an object."""
    return any(_is_object(env, value) for _, value in closure.enclosing)


def _is_object(env: Environment, value: Value) -> bool:
    return isinstance(value, Reference) and isinstance(
        env.heap.get(value.object), (Instance, LibraryObject, ListObject, DictObject)
    )
