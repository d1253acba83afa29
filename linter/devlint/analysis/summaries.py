"""Calling functions of the program.

A function is executed once for each entry: constants and known devices stand as they are, every tensor becomes
one on a device variable named after its parameter, everything else is opaque. The outcome is a `Summary`, and a
call puts the caller's devices in the place of the variables. A call that hands over modules or other objects is
executed with them instead, as far as the budget allows, because what it does to them is not said by devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from devlint.analysis import attributes, conflicts, containers, instances, statements
from devlint.analysis.arguments import Arguments, Given
from devlint.analysis.devices import check_use
from devlint.analysis.frame import Frame
from devlint.analysis.moves import module_device
from devlint.diagnostics import Certainty
from devlint.domain.device import UNKNOWN_DEVICE, Concrete, Device, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import Dictionary, Instance, LibraryObject, Object, Sequence
from devlint.domain.heap import summary as all_of
from devlint.domain.provenance import Origin
from devlint.domain.summary import Requirement, Side, Summary
from devlint.domain.value import (
    ARRAY,
    NUMBER,
    UNKNOWN,
    Closure,
    Constant,
    DeviceValue,
    Kind,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    Test,
    Tuple,
    UserClass,
    Value,
    is_host,
)
from devlint.facts import Conflict, Step
from devlint.frontend.ir import Annotation, Parameter, Span

DEEPEST_CALL = 5
"""How far calls are followed that are executed with their caller's objects."""

INLINE_BUDGET = 40
"""How many calls one analysed body may have executed with its objects."""


@dataclass(slots=True)
class Outcome:
    """What an execution of a function body left behind."""

    frame: Frame
    env: Environment | None
    value: Value | None


def parameter_values(
    frame: Frame, closure: Closure, owner: UserClass | None, bound: Mapping[str, Value], first_is_self: bool
) -> dict[str, Value]:
    """The names with which a body begins: what is bound, defaults that are not, and symbols for the rest."""
    names: dict[str, Value] = {}
    defaults = dict(closure.defaults)
    for position, parameter in enumerate(closure.function.parameters):
        if parameter.name in bound:
            names[parameter.name] = bound[parameter.name]
        elif parameter.kind in ("args", "kwargs"):
            names[parameter.name] = UNKNOWN
        else:
            is_input = (
                first_is_self and position > 0 and not parameter.has_default and _is_forward(frame, owner, closure)
            )
            names[parameter.name] = symbol(frame, closure, parameter, defaults.get(parameter.name), is_input)
    return names


def _is_forward(frame: Frame, owner: UserClass | None, closure: Closure) -> bool:
    from devlint.analysis.classes import is_module

    return owner is not None and closure.function.name.endswith(".forward") and is_module(owner)


def symbol(frame: Frame, closure: Closure, parameter: Parameter, default: Value | None, is_input: bool) -> Value:
    """A parameter about which only its declaration is known."""
    name = parameter.name
    origin = Origin(f"`{name}` is a parameter", closure.globals.file, parameter.span, "parameter")
    names = _resolved_names(frame, closure, parameter.annotation)
    wanted = names - {"None", "typing.Any"}
    if wanted and wanted <= {"builtins.int", "builtins.float", "builtins.bool"}:
        return NUMBER if "None" not in names else Opaque(name, Kind.ANY, UNKNOWN_DEVICE, origin)
    if wanted == {"torch.device"}:
        if "None" in names or default == Constant(None):
            return Opaque(name, Kind.ANY, Variable(name), origin)
        return DeviceValue(Variable(name), True, origin)
    if wanted == {"numpy.ndarray"}:
        return ARRAY
    if wanted == {"torch.dtype"}:
        return NUMBER
    if wanted and wanted <= TENSOR_NAMES:
        return Opaque(name, Kind.TENSOR, Variable(name), origin)
    if wanted == {"torch.nn.Module"}:
        return Opaque(name, Kind.MODULE, Variable(name), origin)
    kind = Kind.TENSOR if is_input and not wanted else Kind.ANY
    return Opaque(name, kind, Variable(name), origin)


TENSOR_NAMES = frozenset(
    [
        "torch.Tensor",
        "torch.FloatTensor",
        "torch.LongTensor",
        "torch.BoolTensor",
        "torch.IntTensor",
        "torch.HalfTensor",
        "torch.nn.Parameter",
        "torch.BFloat16Tensor",
        "torch.DoubleTensor",
        "torch.ByteTensor",
    ]
)


def _resolved_names(frame: Frame, closure: Closure, annotation: Annotation | None) -> frozenset[str]:
    """The alternatives of an annotation as qualified names."""
    if annotation is None:
        return frozenset()
    return frozenset(frame.program.qualified(closure.globals, name) for name in annotation.names)


def run(
    caller: Frame,
    closure: Closure,
    owner: UserClass | None,
    names: dict[str, Value],
    env: Environment,
    *,
    site: str,
    recording: bool = False,
    proofs: dict[str, Kind] | None = None,
) -> Outcome:
    """Executes a function body; `env` lends its heap, device settings and assumptions."""
    function = closure.function
    frame = Frame(
        caller.program,
        function,
        closure.globals,
        dict(closure.enclosing),
        owner,
        site,
        recording,
        {} if proofs is None else proofs,
        caller.depth + 1,
    )
    frame.budget = caller.budget
    for parameter in function.parameters:
        element = parameter.annotation.element if parameter.annotation is not None else None
        names_of_element = _resolved_names(frame, closure, element)
        if names_of_element and names_of_element <= TENSOR_NAMES:
            frame.proofs[f"{parameter.name}[*]"] = Kind.TENSOR
    inner = replace(env, names=names, heap=dict(env.heap), assumptions=dict(env.assumptions))
    inner.always = True
    after = statements.execute(frame, function.body, inner)
    if after is not None:
        frame.leave(after, Constant(None))
    value = frame.result
    if function.is_generator:
        value = instances.generator(frame, frame.returned, frame.yielded)
    return Outcome(frame, frame.returned, value)


def bind(frame: Frame, env: Environment, closure: Closure, arguments: Arguments, span: Span) -> dict[str, Given] | None:
    """Arguments by parameter name; None when they do not fit or cannot be counted."""
    bound: dict[str, Given] = {}
    positional = list(arguments.positional)
    keywords = dict(arguments.keywords)
    for parameter in closure.function.parameters:
        if parameter.kind == "args":
            span = positional[0].span if positional else parameter.span
            bound[parameter.name] = Given(Tuple(tuple(given.value for given in positional)), span)
            positional = []
        elif parameter.kind == "kwargs":
            items = tuple((name, given.value) for name, given in keywords.items())
            identity = frame.new_object(span, "keywords")
            env.heap[identity] = Dictionary(items)
            bound[parameter.name] = Given(Reference(identity), span)
            keywords = {}
        elif parameter.kind in ("positional", "normal") and positional:
            bound[parameter.name] = positional.pop(0)
        elif parameter.kind != "positional" and parameter.name in keywords:
            bound[parameter.name] = keywords.pop(parameter.name)
        elif not parameter.has_default and arguments.exact:
            return None
    if positional or keywords:
        return None
    return bound


def call(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """The result of a call; None when it does not return. What it requires and changes is applied to `env`."""
    bound = bind(frame, env, closure, arguments, span)
    if bound is None or not arguments.exact or closure.function.is_stub:
        return UNKNOWN
    frame.program.note_arguments(closure.function, {name: given.value for name, given in bound.items()})
    if _hands_over_objects(frame, env, bound):
        return _execute_here(frame, env, closure, owner, bound, span)
    entry = _entry(frame, closure, bound)
    summary = frame.program.summarise(frame, closure, owner, entry, env)
    if summary is None:
        return UNKNOWN
    result = apply(frame, env, summary, bound, closure, span)
    if result is not None and is_lost(result):
        exact = {**entry, **{n: g.value for n, g in bound.items() if _is_exact(g.value)}}
        if exact != entry:
            summary = frame.program.summarise(frame, closure, owner, exact, env)
            if summary is not None and summary.returns is not None:
                return Substitution(frame, env, bound, span, set()).value(summary.returns, dict(summary.heap))
    return result


def is_lost(value: Value) -> bool:
    """Whether a result says nothing of its device."""
    return value == UNKNOWN or (isinstance(value, Tensor) and value.device == UNKNOWN_DEVICE)


def _is_exact(value: Value) -> bool:
    return isinstance(value, Tensor) and isinstance(value.device, Concrete)


def _entry(frame: Frame, closure: Closure, bound: Mapping[str, Given]) -> dict[str, Value]:
    """What a summary has to know of the arguments; parameters that are not given have their defaults."""
    entry = {name: abstract(frame, name, given.value) for name, given in bound.items()}
    for name, default in closure.defaults:
        if name not in entry:
            entry[name] = default if is_host(default) else UNKNOWN
    return entry


def _hands_over_objects(frame: Frame, env: Environment, bound: Mapping[str, Given]) -> bool:
    for given in bound.values():
        value = given.value
        if isinstance(value, Reference) and isinstance(
            env.heap.get(value.object), (Instance, LibraryObject, Sequence, Dictionary)
        ):
            return True
        if isinstance(value, Tuple) and any(isinstance(item, Reference) for item in value.items):
            return True
    return False


def _execute_here(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    bound: Mapping[str, Given],
    span: Span,
    *,
    quiet: bool = False,
) -> Value | None:
    """Executes the body with the caller's objects; `quiet` when its conflicts have been reported already."""
    if frame.depth >= DEEPEST_CALL or frame.budget[0] <= 0 or closure.function in frame.program.running:
        return forget(frame, env, bound)
    frame.budget[0] -= 1
    frame.program.running.add(closure.function)
    defaults = dict(closure.defaults)
    names = {**defaults, **{name: given.value for name, given in bound.items()}}
    site = f"{frame.site}{span.line}:{span.column}>"
    # What the body says of devices that differ belongs to the body's own analysis; here it is the call's.
    outcome = run(frame, closure, owner, names, env, site=site)
    frame.program.running.discard(closure.function)
    use_devices(frame, env, outcome.frame.uses, closure, span)
    if not quiet:
        frame.requirements.extend(one for one in outcome.frame.requirements if one.always)
        for conflict in outcome.frame.clashes:
            report_through(frame, conflict, span, closure)
    if outcome.env is None or outcome.value is None:
        return None
    env.heap = outcome.env.heap
    env.current, env.default = outcome.env.current, outcome.env.default
    env.checked = env.checked or outcome.env.checked
    return outcome.value


def use_devices(frame: Frame, env: Environment, uses: Iterable[DeviceValue], closure: Closure, span: Span) -> None:
    """Devices that a called body uses are used by the call; those it names itself are its own affair."""
    whole = closure.function.span
    for found in uses:
        origin = found.origin
        if origin is None:
            continue
        inside = origin.file == closure.globals.file and whole.line <= origin.span.line <= whole.end_line
        if not inside:
            check_use(frame, env, found, span)


def forget(frame: Frame, env: Environment, bound: Mapping[str, Given]) -> Value:
    """A call that is not followed may do anything to the objects it is given."""
    for given in bound.values():
        instances.escape(env, given.value)
    return UNKNOWN


def report_through(frame: Frame, requirement: Requirement, span: Span, closure: Closure) -> None:
    """A conflict inside a called body that its own analysis cannot see is reported at the call."""
    if frame.recording:
        via = Step(
            frame.program.place(requirement.file, requirement.span),
            f"`{requirement.operation}` is called here",
        )
        frame.record(
            span,
            Conflict(
                requirement.kind,
                requirement.operation,
                conflicts.meeting(frame, requirement.first),
                conflicts.meeting(frame, requirement.second),
                Certainty.CERTAIN if not _is_checked(requirement) else Certainty.ON_ACCELERATOR,
                requirement.message,
                (via,),
            ),
        )
    frame.clashes.append(requirement)


def _is_checked(requirement: Requirement) -> bool:
    sides = (requirement.first, requirement.second)
    return requirement.kind == "pinned" or any(s.origin is not None and s.origin.checked for s in sides)


# --- entries and their application --------------------------------------------------------------------------


def abstract(frame: Frame, name: str, value: Value) -> Value:
    """What a summary's entry says of an argument: enough to choose a path, nothing that only this caller has."""
    origin = Origin(f"`{name}` is a parameter", frame.file, frame.scope.span, "parameter")
    match value:
        case Constant() | DeviceValue(device=Concrete()) | Closure() | UserClass():
            return value
        case Tensor():
            return Tensor(Variable(name), value.rank, origin=origin)
        case DeviceValue():
            return DeviceValue(Variable(name), True, origin)
        case Tuple():
            return Tuple(tuple(abstract(frame, f"{name}[{i}]", item) for i, item in enumerate(value.items)))
        case Opaque():
            return Opaque(name, frame.kind(value), Variable(name), origin)
        case Test():
            return Test(known=value.known)
        case _ if value == UNKNOWN or isinstance(value, Reference):
            return Opaque(name, Kind.ANY, Variable(name), origin)
        case _:
            return value


@dataclass(slots=True)
class Substitution:
    """Puts a caller's values in the place of a summary's variables."""

    frame: Frame
    env: Environment
    bound: Mapping[str, Given]
    span: Span
    adopted: set[ObjectId]

    def lookup(self, path: str) -> Value:
        """The caller's value for a path such as `batch['x']` or `self.fc`."""
        root, *steps = re.findall(r"^\w+|\.[\w()]+|\[[^\]]*\]", path) or [path]
        given = self.bound.get(root)
        if given is None:
            return UNKNOWN
        value = given.value
        for step in steps:
            value = self._step(value, step)
        return value

    def _step(self, value: Value, step: str) -> Value:
        if step.startswith("."):
            if step.endswith("()"):
                return UNKNOWN
            held = self.env.heap.get(value.object) if isinstance(value, Reference) else None
            if isinstance(held, Instance):
                found = held.get(step[1:])
                return UNKNOWN if found is None else found
            if isinstance(value, Opaque):
                return containers.element(self.frame, value, step)
            return UNKNOWN
        if isinstance(value, Tensor):
            return containers.row(value)
        if step == "[*]":
            each = containers.elements_of(self.frame, self.env, value)
            return each.each if each.few is None else all_of(Sequence(each.few))
        text = step[1:-1]
        key = (
            Constant(text[1:-1])
            if text[:1] in "'\""
            else Constant(int(text))
            if text.lstrip("-").isdigit()
            else UNKNOWN
        )
        return containers.subscript(self.frame, self.env, value, key, self.span)

    def device(self, device: Device) -> Device:
        """A device of the summary as the caller sees it."""
        if not isinstance(device, Variable):
            return device
        value = self.lookup(device.place)
        match value:
            case Tensor() | Opaque() | DeviceValue():
                return conflicts.resolve(self.env, value.device)
            case Constant(value=str()):
                return attributes.device_named(self.frame, self.env, value)
            case Reference():
                return module_device(self.frame, self.env, value)[0]
            case _:
                return UNKNOWN_DEVICE

    def origin_of(self, device: Device, origin: Origin | None) -> Origin | None:
        """The caller's story for a value that came from it."""
        if not isinstance(device, Variable):
            return origin
        value = self.lookup(device.place)
        if isinstance(value, (Tensor, Opaque, DeviceValue)):
            return value.origin
        if isinstance(value, Reference):
            return module_device(self.frame, self.env, value)[1]
        return origin

    def value(self, value: Value, objects: dict[ObjectId, Object]) -> Value:
        """A value of the summary as the caller sees it; objects made by the callee become the call's."""
        match value:
            case Tensor():
                origin = self.origin_of(value.device, value.origin)
                return replace(value, device=self.device(value.device), origin=origin)
            case Opaque():
                if value.path.endswith("()"):
                    return replace(
                        value,
                        path=f"{value.path}@{self.span.line}:{self.span.column}",
                        device=self.device(value.device),
                    )
                found = self.lookup(value.path)
                if isinstance(value.device, Variable) and value.device.place == value.path:
                    return found
                return UNKNOWN if found is UNKNOWN else replace(value, device=self.device(value.device))
            case DeviceValue():
                origin = self.origin_of(value.device, value.origin)
                return replace(value, device=self.device(value.device), origin=origin)
            case Tuple():
                return Tuple(tuple(self.value(item, objects) for item in value.items))
            case Reference() if value.object in objects:
                return self.adopt(value.object, objects)
            case Reference():
                return UNKNOWN
            case _:
                return value

    def adopt(self, identity: ObjectId, objects: dict[ObjectId, Object]) -> Reference:
        """Brings an object that the callee made into the caller's heap, under a name of this call's own."""
        mine = ObjectId(f"{self.frame.site}{self.span.line}:{self.span.column}>{identity.site}")
        if mine in self.env.heap and mine in self.adopted:
            return Reference(mine)
        self.adopted.add(mine)
        held = objects[identity]
        match held:
            case Sequence():
                items = None if held.items is None else tuple(self.value(item, objects) for item in held.items)
                made: Object = replace(held, items=items, rest=self.value(held.rest, objects))
            case Dictionary():
                pairs = tuple((key, self.value(item, objects)) for key, item in held.items)
                made = replace(held, items=pairs, rest=self.value(held.rest, objects))
            case LibraryObject():
                parts = tuple((key, self.value(item, objects)) for key, item in held.parts)
                made = replace(held, device=self.device(held.device), parts=parts)
            case Instance():
                stored = tuple((key, self.value(item, objects)) for key, item in held.attributes)
                made = replace(held, attributes=stored)
        self.env.heap[mine] = made
        return Reference(mine)


def apply(
    frame: Frame, env: Environment, summary: Summary, bound: Mapping[str, Given], closure: Closure, span: Span
) -> Value | None:
    """What a call with these arguments does, by the function's summary."""
    substitution = Substitution(frame, env, bound, span, set())
    use_devices(frame, env, summary.uses, closure, span)
    if not env.fallback:
        for requirement in summary.requires:
            _require(frame, env, substitution, requirement, closure, span)
    env.checked = env.checked or summary.checks
    if summary.returns is None:
        return None
    return substitution.value(summary.returns, dict(summary.heap))


def _require(
    frame: Frame,
    env: Environment,
    substitution: Substitution,
    requirement: Requirement,
    closure: Closure,
    span: Span,
) -> None:
    """Checks one requirement of a summary with the caller's devices."""
    first = _side(substitution, requirement.first, span)
    second = _side(substitution, requirement.second, span)
    if conflicts.is_spared(first) or conflicts.is_spared(second):
        return
    kind = conflicts.judge(first, second)
    here = replace(requirement, first=first, second=second, message=conflicts.wording(first, second))
    if kind is not None:
        if requirement.always:
            report_through(frame, conflicts.ordered(replace(here, kind=kind)), span, closure)
    elif conflicts.is_open(first, second):
        frame.requirements.append(replace(here, always=requirement.always and env.always))


def _side(substitution: Substitution, side: Side, span: Span) -> Side:
    if not isinstance(side.device, Variable):
        return side
    device = substitution.device(side.device)
    origin = substitution.origin_of(side.device, side.origin)
    root = re.match(r"\w+", side.device.place)
    given = substitution.bound.get(root[0]) if root is not None else None
    value = substitution.lookup(side.device.place)
    rank = value.rank if isinstance(value, Tensor) and side.rank is None else side.rank
    name, where = (substitution.frame.text(given.span), given.span) if given is not None else (side.name, span)
    # What a module holds is met through the module.
    module = root is not None and root[0] == "self" and given is not None and isinstance(given.value, Reference)
    file = substitution.frame.file
    return replace(side, name=name, device=device, origin=origin, rank=rank, span=where, module=module, file=file)


def call_forward(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    module: Reference,
    function: Given,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """A call of a module of the program: its `forward` by summary, with the module's parts in place of `self`."""
    bound = bind(frame, env, closure, arguments.behind(Given(module, function.span, function.place)), span)
    held = env.heap.get(module.object)
    if bound is None or not arguments.exact or not isinstance(held, Instance) or closure.function.is_stub:
        return UNKNOWN
    first = closure.function.parameters[0].name
    frame.program.note_arguments(closure.function, {name: given.value for name, given in bound.items()})
    entry = _entry(frame, closure, {name: given for name, given in bound.items() if name != first})
    summary = frame.program.summarise(frame, closure, owner, entry, env, held.cls)
    if summary is None:
        return UNKNOWN
    result = apply(frame, env, summary, {**bound, "self": bound[first]}, closure, span)
    if result is not None and is_lost(result):
        device, _ = module_device(frame, env, module)
        if isinstance(device, Concrete):
            return _execute_here(frame, env, closure, owner, bound, span, quiet=True)
    return result
