"""Replace unknown values by values observed in a recorded run.

A program that is analysed for a view begins each function with its arguments in that run: parameters, and attributes of
`self` and of other objects. A variable that is bound once, to an unknown value, holds its last value of the run. The
unknown result of a function is its result in the run, if the arguments are on the same devices. A known value stays as
it is, and so does an unknown value that was not the same each time. The story of each value says that it was observed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import modules
from devlint.analysis.values.arguments import ArgumentValue
from devlint.diagnostics import Certainty
from devlint.domain.device import Concrete, parse
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.place import AccessPath, AccessStep
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

MOST_ITEMS = 16
"""Lists and tuples with more elements than this stay as they are."""


def begin(frame: Frame, env: Environment, closure: Closure, names: dict[str, Value]) -> None:
    """Puts what a function was given in the place of unknown parameters and attributes of `self`."""
    sight = frame.program.sight
    called = None if sight is None else sight.of(frame.file, closure.function)
    if called is None:
        return
    parameters = {parameter.name: parameter for parameter in closure.function.parameters}
    for name, parameter in parameters.items():
        seen = called.entry.get(name)
        if seen is not None and name in names and _is_unknown(names[name]):
            made = _Observation(frame, env, parameter.span, called).value(name, seen, called.entry)
            names[name] = names[name] if made is None else made
    for name, parameter in parameters.items():
        own = names.get(name)
        if isinstance(own, Reference) and isinstance(env.heap.get(own.object), Instance):
            observation = _Observation(frame, env, parameter.span, called)
            for path in _directly_in(name, ".", called.entry):
                _attribute(observation, own, path, called.entry[path], called.entry)


def _attribute(observation: _Observation, own: Reference, path: str, seen: Seen, places: Mapping[str, Seen]) -> None:
    frame, env = observation.frame, observation.env
    held = env.heap[own.object]
    assert isinstance(held, Instance)
    name = path.rpartition(".")[2]
    known = held.get(name)
    there = known.present if isinstance(known, MaybeNone) else known
    if isinstance(there, Reference):
        device = _only(seen, "module")
        if device is not None and not isinstance(modules.module_device(frame, env, there)[0], Concrete):
            modules.place_object(frame, env, there, device, observation.origin(path, device))
        return
    if known is not None and not _is_unknown(known):
        return
    made = observation.value(path, seen, places)
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
    made = _Observation(frame, env, span, called).value(name, seen, called.exit)
    return value if made is None else made


def returned(
    frame: Frame, env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue], result: Value, span: Span
) -> Value:
    """Return the result of a call: if it is unknown, the result that the function had in the run.

    Another device among the arguments may lead to another device of the result.
    """
    sight = frame.program.sight
    called = None if sight is None or result != UNKNOWN else sight.of(closure.globals.file, closure.function)
    seen = None if called is None else called.exit.get("return")
    if called is None or seen is None:
        return result
    for name, argument in bound.items():
        given = called.entry.get(name)
        if given is not None and given.devices and not _is_at(argument.value, given):
            return result
    made = _Observation(frame, env, span, called).value("return", seen, called.exit)
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

    def value(self, path: str, seen: Seen, places: Mapping[str, Seen]) -> Value | None:
        """The value of a place; None where nothing follows of what was seen."""
        kinds = set(seen.kinds) - {"none"}
        if len(kinds) != 1:
            return None
        made = self._made(path, kinds.pop(), seen, places)
        return maybe_none(made) if made is not None and "none" in seen.kinds else made

    def _made(self, path: str, kind: str, seen: Seen, places: Mapping[str, Seen]) -> Value | None:
        if kind in ("dict", "list", "tuple"):
            return self._container(path, kind, seen, places)
        if kind == "other":
            return self._object(path, places)
        device = _only(seen, kind)
        if device is None:
            return None
        match kind:
            case "tensor":
                return Tensor(device, _rank(seen.sizes), origin=self.origin(path, device))
            case "module":
                return Opaque(_place(path), Kind.MODULE, device, self.origin(path, device))
            case "device":
                return DeviceValue(device, True, self.origin(path, device))
            case _:
                return None

    def _container(self, path: str, kind: str, seen: Seen, places: Mapping[str, Seen]) -> Value | None:
        inside = {
            _key(inner, path): self.value(inner, places[inner], places) or UNKNOWN
            for inner in _directly_in(path, "[", places)
        }
        if not any(value != UNKNOWN for value in inside.values()):
            return None
        if kind == "dict":
            return self._allocated(path, DictObject(tuple(inside.items()), UNKNOWN, False))
        if len(seen.sizes) != 1 or seen.sizes[0] > MOST_ITEMS:
            return None
        items = tuple(inside.get(position, UNKNOWN) for position in range(seen.sizes[0]))
        return TupleValue(items) if kind == "tuple" else self._allocated(path, ListObject(items))

    def _object(self, path: str, places: Mapping[str, Seen]) -> Value | None:
        """An object of a class that is not known, with the attributes that were seen."""
        found = (
            (inner.rpartition(".")[2], self.value(inner, places[inner], places))
            for inner in _directly_in(path, ".", places)
        )
        attributes = tuple((name, value) for name, value in found if value is not None)
        if not attributes:
            return None
        cls = UserClass("", (UNKNOWN,), {}, self.frame.globals, {}, True)
        return self._allocated(path, Instance(cls, attributes, open=True))

    def _allocated(self, path: str, made: DictObject | ListObject | Instance) -> Reference:
        identity = self.frame.new_object(self._span, f"observed {path}")
        self.env.heap[identity] = made
        return Reference(identity)

    def origin(self, path: str, device: Concrete) -> Origin:
        """The story: that it was seen there."""
        shown = f"the result of {self._function}()" if path == "return" else f"`{path}`"
        shown = f"`{path.removeprefix('return')}` of the result of {self._function}()" if path[:7] in _PARTS else shown
        what = f"observed at run time{self._rank}: {shown} is on {device}"
        return Origin(what, self.frame.file, self._span, OriginKind.PARAMETER, observed=True)


_PARTS = frozenset({"return.", "return["})


def _directly_in(path: str, sign: str, places: Mapping[str, Seen]) -> list[str]:
    """The places that are one step, `.` or `[`, into the value of a place, and not deeper."""
    inside = [inner for inner in places if inner.startswith((f"{path}.", f"{path}["))]
    return [
        inner
        for inner in inside
        if inner[len(path)] == sign
        and not any(inner.startswith((f"{other}.", f"{other}[")) for other in inside if other != inner)
    ]


def _place(path: str) -> AccessPath:
    """The place that a recording names: `self.layers[0]`; what a function returns begins with `return`."""
    is_result = path == "return" or path[:7] in _PARTS  # which is no expression
    try:
        node: ast.expr = ast.parse(f"_{path[6:]}" if is_result else path, mode="eval").body
        steps: list[AccessStep] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            steps.append(
                AccessStep.attribute(node.attr)
                if isinstance(node, ast.Attribute)
                else AccessStep.item(ast.literal_eval(node.slice))
            )
            node = node.value
    except (ValueError, SyntaxError):
        return AccessPath(path)
    return AccessPath("return" if is_result else ast.unparse(node), tuple(reversed(steps)))


def _key(path: str, container: str) -> object:
    """The constant that leads from a container to a place in it."""
    try:
        return ast.literal_eval(path[len(container) + 1 : -1])
    except (ValueError, SyntaxError):
        return path


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
