"""Replace unknown values by values observed in a recorded run.

A program that is analysed for a view begins each function with its arguments in that run: parameters, and attributes of
`self` and of other objects. A variable that is bound once, to an unknown value, holds its last value of the run. The
unknown result of a function is its result in the run, if the arguments are on the same devices. A known value stays as
it is, and so does an unknown value that was not the same each time. The story of each value says that it was observed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import modules
from devlint.analysis.values.arguments import ArgumentValue
from devlint.diagnostics import Certainty
from devlint.domain.device import Concrete, parse
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.place import AccessPath, AccessStep, StepKind
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    SOME_DIMENSIONS,
    UNKNOWN,
    Closure,
    DeviceValue,
    Kind,
    MaybeNone,
    Opaque,
    Rank,
    Reference,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    maybe_none,
)
from devlint.facts import Conflict, Fact, FileFacts
from devlint.frontend.ir import Function, Span
from devlint.observed import Called, Seen

RETURN = "return"
"""What recorded paths call the result of a function."""

MOST_ITEMS = 16
"""Lists and tuples with more elements than this stay as they are."""


def begin(frame: Frame, env: Environment, closure: Closure, names: dict[str, Value]) -> None:
    """Puts what a function was given in the place of unknown parameters and attributes of `self`."""
    sight = frame.program.sight
    called = None if sight is None else sight.of(frame.file, closure.function)
    if called is None:
        return
    entry = _by_place(called.entry)
    parameters = {parameter.name: parameter for parameter in closure.function.parameters}
    for name, parameter in parameters.items():
        seen = called.entry.get(name)
        if seen is not None and name in names and _is_unknown(names[name]):
            made = _Observation(frame, env, parameter.span, called).value(AccessPath(name), seen, entry)
            names[name] = names[name] if made is None else made
    for name, parameter in parameters.items():
        own = names.get(name)
        if isinstance(own, Reference) and isinstance(env.heap.get(own.object), Instance):
            observation = _Observation(frame, env, parameter.span, called)
            for place in _attributes_in(AccessPath(name), entry):
                _attribute(observation, own, place, entry)


def _attribute(observation: _Observation, own: Reference, place: AccessPath, places: Mapping[AccessPath, Seen]) -> None:
    frame, env = observation.frame, observation.env
    held = env.heap[own.object]
    assert isinstance(held, Instance)
    name, seen = place.last, places[place]
    known = held.get(name)
    there = known.present if isinstance(known, MaybeNone) else known
    if isinstance(there, Reference):
        device = _only(seen, "module")
        if device is not None and not isinstance(modules.module_device(frame, env, there)[0], Concrete):
            modules.place_object(frame, env, there, device, observation.origin(place, device))
        return
    if known is not None and not _is_unknown(known):
        return
    made = observation.value(place, seen, places)
    if isinstance(made, Tensor) and isinstance(there, Tensor):
        made = replace(made, role=there.role)
    if made is not None:
        attributes = tuple(item for item in held.attributes if item[0] != name)
        env.heap[own.object] = replace(held, attributes=(*attributes, (name, made)))


def bound(frame: Frame, env: Environment, name: str, value: Value, span: Span) -> Value:
    """What a variable holds that is given a value: what was seen, if it is bound once and the value is unknown."""
    scope, sight = frame.scope, frame.program.sight
    if sight is None or not isinstance(scope, Function) or scope.store_counts.get(name) != 1 or not _is_unknown(value):
        return value
    if name in {parameter.name for parameter in scope.parameters}:
        return value
    called = sight.of(frame.file, scope)
    seen = None if called is None else called.exit.get(name)
    if called is None or seen is None or not {"tensor", "device", "other"} & set(seen.kinds):
        return value  # what may have changed since is not known to have been so here
    made = _Observation(frame, env, span, called).value(AccessPath(name), seen, _by_place(called.exit))
    return value if made is None else made


def returned(
    frame: Frame, env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue], result: Value, span: Span
) -> Value:
    """Return the result of a call: if it is unknown, the result that the function had in the run.

    Another device among the arguments may lead to another device of the result.
    """
    sight = frame.program.sight
    called = None if sight is None or result != UNKNOWN else sight.of(closure.globals.file, closure.function)
    seen = None if called is None else called.exit.get(RETURN)
    if called is None or seen is None:
        return result
    for name, argument in bound.items():
        given = called.entry.get(name)
        if given is not None and given.devices and not _is_at(argument.value, given):
            return result
    made = _Observation(frame, env, span, called).value(AccessPath(RETURN), seen, _by_place(called.exit))
    return result if made is None else made


def _is_at(value: Value, seen: Seen) -> bool:
    """Whether a value is on the one device where a run has seen it."""
    device = value.device if isinstance(value, (Tensor, Opaque, DeviceValue)) else None
    return isinstance(device, Concrete) and len(seen.devices) == 1 and parse(seen.devices[0]) == device


def with_observed(facts: FileFacts, others: FileFacts) -> FileFacts:
    """The facts with the conflicts that only a view shows: of two known devices, one of which was observed.

    Other facts that differ do so because a view knows which branch is taken, which says nothing of the other one.
    """
    told = [one for one in facts.facts if isinstance(one.fact, Conflict) and one.fact.certainty != Certainty.POSSIBLE]
    known = [one.fact for one in told if isinstance(one.fact, Conflict)]
    places = {one.place for one in told}
    places |= {conflict.via[-1].place for conflict in known if conflict.via}
    more = [one for one in others.facts if _is_shown(one.fact) and one.place not in places]
    ordered = sorted((*facts.facts, *more), key=lambda one: (one.place, type(one.fact).__name__))
    elsewhere = [one for one in others.elsewhere if _is_shown(one.fact) and one not in facts.elsewhere]
    return replace(facts, facts=tuple(ordered), elsewhere=(*facts.elsewhere, *elsewhere))


def _is_shown(fact: Fact) -> bool:
    return (
        isinstance(fact, Conflict)
        and fact.observed
        and all(isinstance(side.device, Concrete) for side in (fact.first, fact.second))
    )


class _Observation:
    """Makes values of what was seen.

    Args:
        span: of the parameter or variable that had them.
    """

    def __init__(self, frame: Frame, env: Environment, span: Span, called: Called) -> None:
        self.frame = frame
        self.env = env
        self._span = span
        self._function = called.function.rpartition(".")[2]
        self._rank = "" if called.rank is None else f" by rank {called.rank}"

    def value(self, place: AccessPath, seen: Seen, places: Mapping[AccessPath, Seen]) -> Value | None:
        """The value of a place; None where nothing follows of what was seen."""
        kinds = set(seen.kinds) - {"none"}
        if len(kinds) != 1:
            return None
        made = self._made(place, kinds.pop(), seen, places)
        return maybe_none(made) if made is not None and "none" in seen.kinds else made

    def _made(self, place: AccessPath, kind: str, seen: Seen, places: Mapping[AccessPath, Seen]) -> Value | None:
        if kind in ("dict", "list", "tuple"):
            return self._container(place, kind, seen, places)
        if kind == "other":
            return self._object(place, places)
        device = _only(seen, kind)
        if device is None:
            return None
        match kind:
            case "tensor":
                return Tensor(device, _rank(seen.sizes), origin=self.origin(place, device))
            case "module":
                return Opaque(place, Kind.MODULE, device, self.origin(place, device))
            case "device":
                return DeviceValue(device, True, self.origin(place, device))
            case _:
                return None

    def _container(self, whole: AccessPath, kind: str, seen: Seen, places: Mapping[AccessPath, Seen]) -> Value | None:
        inside = {
            _key(inner, whole): self.value(inner, places[inner], places) or UNKNOWN
            for inner in _items_in(whole, places)
        }
        if not any(value != UNKNOWN for value in inside.values()):
            return None
        if kind == "dict":
            return self._allocated(whole, DictObject(tuple(inside.items()), UNKNOWN, False))
        if len(seen.sizes) != 1 or seen.sizes[0] > MOST_ITEMS:
            return None
        items = tuple(inside.get(position, UNKNOWN) for position in range(seen.sizes[0]))
        return TupleValue(items) if kind == "tuple" else self._allocated(whole, ListObject(items))

    def _object(self, whole: AccessPath, places: Mapping[AccessPath, Seen]) -> Value | None:
        """An object of a class that is not known, with the attributes that were seen."""
        found = ((inner.last, self.value(inner, places[inner], places)) for inner in _attributes_in(whole, places))
        attributes = tuple((name, value) for name, value in found if value is not None)
        if not attributes:
            return None
        cls = UserClass("", (UNKNOWN,), {}, self.frame.globals, {}, True)
        return self._allocated(whole, Instance(cls, attributes, open=True))

    def _allocated(self, place: AccessPath, made: DictObject | ListObject | Instance) -> Reference:
        identity = self.frame.new_object(self._span, f"observed {place}")
        self.env.heap[identity] = made
        return Reference(identity)

    def origin(self, place: AccessPath, device: Concrete) -> Origin:
        """The story: that it was seen there."""
        shown = f"`{place}`"
        if place.root == RETURN:
            part = f"`{place.behind_root}` of " if place.steps else ""
            shown = f"{part}the result of {self._function}()"
        what = f"observed at run time{self._rank}: {shown} is on {device}"
        return Origin(what, self.frame.file, self._span, OriginKind.PARAMETER, observed=True)


def _by_place(recorded: Mapping[str, Seen]) -> dict[AccessPath, Seen]:
    """What a run has recorded, by the places that its texts name."""
    return {_place(path): seen for path, seen in recorded.items()}


@lru_cache(maxsize=10_000)
def _place(path: str) -> AccessPath:
    """The place of a recorded path: `self.layers[0]`; what a function returns begins with `return`."""
    is_result = path == RETURN or path[: len(RETURN) + 1] in (f"{RETURN}.", f"{RETURN}[")  # which is no expression
    try:
        node: ast.expr = ast.parse(f"_{path[len(RETURN) :]}" if is_result else path, mode="eval").body
        steps: list[AccessStep] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                steps.append(AccessStep.attribute(node.attr))
            else:
                steps.append(AccessStep.item(ast.literal_eval(node.slice)))
            node = node.value
    except (ValueError, SyntaxError):
        return AccessPath(path)
    return AccessPath(RETURN if is_result else ast.unparse(node), tuple(reversed(steps)))


def _directly_in(whole: AccessPath, places: Iterable[AccessPath]) -> list[AccessPath]:
    """The recorded places inside another one, without those that are inside of these."""
    inside = [place for place in places if place != whole and place.is_within(whole)]
    return [place for place in inside if not any(place.is_within(other) for other in inside if other is not place)]


def _attributes_in(whole: AccessPath, places: Iterable[AccessPath]) -> list[AccessPath]:
    found = _directly_in(whole, places)
    return [place for place in found if place.steps[len(whole.steps)].kind is StepKind.ATTRIBUTE]


def _items_in(whole: AccessPath, places: Iterable[AccessPath]) -> list[AccessPath]:
    return [place for place in _directly_in(whole, places) if place.steps[len(whole.steps)].is_element]


def _key(place: AccessPath, container: AccessPath) -> object:
    """The constant that leads from a container to a place in it."""
    *steps, last = place.steps[len(container.steps) :]
    return str(place) if steps else last.key


def _only(seen: Seen, kind: str) -> Concrete | None:
    """The device, if the place held that kind of thing and on one device only."""
    if set(seen.kinds) - {"none"} != {kind} or len(seen.devices) != 1:
        return None
    return parse(seen.devices[0])


def _rank(sizes: tuple[int, ...]) -> Rank:
    if len(sizes) == 1:
        return sizes[0]
    return SOME_DIMENSIONS if sizes and 0 not in sizes else None


def _is_unknown(value: Value) -> bool:
    """Whether a value leaves it to the surroundings where it is."""
    match value:
        case MaybeNone():
            return _is_unknown(value.present)
        case Tensor() | Opaque() | DeviceValue():
            return not isinstance(value.device, Concrete)
        case _:
            return value == UNKNOWN
