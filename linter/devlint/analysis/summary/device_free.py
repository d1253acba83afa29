"""Functions that have nothing to do with devices: what builds documentation, reads configurations, parses text.

Whether one is idle is asked of its summary for arguments of which nothing is known, which takes all paths through it.
Where no path comes to a tensor, a module or the name of a device, none does with texts, numbers, functions that are not
called and containers of these; so that summary stands for all such calls. Large programs have much of it, and call it
for each of their classes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index.classes import find
from devlint.analysis.summary.substitution import abstract
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.environment import Environment
from devlint.domain.given_object import place_of_handed
from devlint.domain.heap import DictObject, ListObject, held_by
from devlint.domain.place import EACH, AccessPath, AccessStep, StepKind
from devlint.domain.summary import Entry, Summary
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Constant,
    Host,
    Imported,
    Library,
    MaybeNone,
    Method,
    Opaque,
    Predicate,
    Reference,
    SourceFile,
    TupleValue,
    Unknown,
    UserClass,
    Value,
    is_same_everywhere,
)

MOST_PARTS = 2000
"""An argument with more parts is not looked through."""

_TEXTS = frozenset("__name__ __qualname__ __doc__ __module__".split())
"""What is read from these attributes is text, whatever has them."""


def summary(
    frame: Frame, env: Environment, closure: Closure, owner: UserClass | None, bound: Mapping[str, ArgumentValue]
) -> Summary | None:
    """The summary that stands for a call of an idle function with objects, functions or classes; None if it is none."""
    if closure.enclosing or closure.function in frame.budget.running or closure.function.is_generator:
        return None
    if not any(isinstance(given.value, (Reference, Closure, UserClass)) for given in bound.values()):
        return None
    if not _may_be_idle_with(env, bound, ()):
        return None
    entry: Entry = {name: _anything(frame, env, name, given.value) for name, given in bound.items()} | {
        name: default if is_same_everywhere(default) else UNKNOWN
        for name, default in closure.defaults
        if name not in bound
    }
    found = frame.program.summarise(frame, closure, owner, entry, env)
    if found is None or found.touches_devices or not _may_be_idle_with(env, bound, found.called):
        return None
    if any(place_of_handed(identity) for identity, _ in found.heap) or _takes_out(found):
        return None
    return found


def called(value: Value) -> AccessPath | None:
    """The place, among the parameters, of what is called: `x`, `x.name`; none for text that is read from one."""
    of = value.receiver if isinstance(value, Method) else value
    if not isinstance(of, Opaque) or of.path.is_fresh or any(step.key in _TEXTS for step in of.path.steps):
        return None
    return of.path.attribute(value.name) if isinstance(value, Method) else of.path


def called_through(places: Iterable[AccessPath], bound: Mapping[str, ArgumentValue]) -> Iterator[AccessPath]:
    """Places among the parameters of a function that is called, as places among those of its caller."""
    for place in places:
        given = bound.get(place.root_name)
        beginning = None if given is None else called(given.value)
        if beginning is not None:
            yield place.rooted_at(beginning)


def through(places: Iterable[AccessPath], bound: Mapping[str, ArgumentValue]) -> Iterator[AccessPath]:
    """Places among the parameters of a function that is called, as the places that its caller has handed over."""
    for place in places:
        given = bound.get(place.root_name)
        if given is not None and given.place is not None:
            yield place.rooted_at(given.place)


def _takes_out(found: Summary) -> bool:
    """Whether the result is or holds a part of what the function was given."""
    made = dict(found.heap)
    pending = [found.returns]
    while pending:
        match pending.pop():
            case TupleValue(items):
                pending.extend(items)
            case MaybeNone(present):
                pending.append(present)
            case Reference(identity) if identity in made:
                pending.extend(held_by(made.pop(identity)))
            case Opaque(path=path) if path.steps and not path.is_fresh:
                return True
    return False


def _anything(frame: Frame, env: Environment, name: str, value: Value) -> Value | ListObject | DictObject:
    """Any argument, or any list or dict where the call hands over one."""
    match env.heap.get(value.object) if isinstance(value, Reference) else None:
        case ListObject():
            return ListObject(None, abstract(frame, AccessPath(name, (EACH,)), UNKNOWN))
        case DictObject():
            return DictObject((), abstract(frame, AccessPath(name, (EACH,)), UNKNOWN), complete=False)
        case _:
            return abstract(frame, AccessPath(name), UNKNOWN)


def _may_be_idle_with(env: Environment, bound: Mapping[str, ArgumentValue], called: Iterable[AccessPath]) -> bool:
    """Whether nothing among the arguments is on a device, and none that is called leads to code of the program."""
    for name, given in bound.items():
        steps = [place.steps for place in called if place.root == name]
        parts = _parts(env, given.value)
        if len(parts) > MOST_PARTS or not all(map(_is_beside_devices, parts)):
            return False
        if any(_leads_on(part, step, inside=part is not given.value) for part in parts for step in steps):
            return False
    return True


def _parts(env: Environment, value: Value) -> Collection[Value]:
    """The elements of a list, dict or tuple; any other value itself."""
    match env.heap.get(value.object) if isinstance(value, Reference) else value:
        case ListObject(module=None) | DictObject(module=None) as held:
            return tuple(held_by(held))
        case TupleValue(items):
            return items
        case MaybeNone(present):
            return (present,)
        case _:
            return (value,)


def _is_beside_devices(value: Value) -> bool:
    """Whether a value is nothing that may be on a device, nor holds any."""
    return isinstance(
        value, (Unknown, Constant, Host, Predicate, Opaque, Closure, UserClass, Library, SourceFile, Imported)
    )


def _leads_on(value: Value, steps: tuple[AccessStep, ...], *, inside: bool) -> bool:
    """Whether calling something that begins with a value, or with what holds it, may execute code of the program."""
    match value:
        case SourceFile() | Imported():
            return True
        case UserClass() if steps and steps[0].kind is StepKind.ATTRIBUTE and not inside:
            return find(value, str(steps[0].key)) is not None
        case Closure() | UserClass():
            return inside or not steps
        case _:
            return False
