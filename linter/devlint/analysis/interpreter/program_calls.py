"""Calling functions of the program.

A function is executed once for each entry: known devices stand as they are, a constant notes what the body asks about
it (`domain.given`), every tensor becomes one on a device variable named after its parameter, everything else is opaque.
The outcome is a `Summary`, and a call puts the caller's devices in the place of the variables. A constructor is
summarised with a new object, and returns it. The object of a method notes what the body asks about it
(`domain.given_object`), and the call stores in its own object what the summary stores. A summary cannot say how a call
changes other objects that it passes. So a call that passes a list or a module is executed with it, as far as the budget
allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from devlint.analysis.demand.callers import CallSite, Followed
from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts, recovery
from devlint.analysis.findings.pytorch_messages import wording
from devlint.analysis.index.classes import blank
from devlint.analysis.interpreter.bodies import run
from devlint.analysis.interpreter.entries import (
    entry_of,
    is_exact,
    is_plain_method,
    knows_its_maker,
    own_object_of,
    stays_with_caller,
)
from devlint.analysis.interpreter.leading_call import OF_ONE_VALUE, LeadingCall, own_object
from devlint.analysis.summary import device_free, handed_over
from devlint.analysis.summary.outcome import requirements
from devlint.analysis.summary.substitution import Substitution, from_inside, handed, qualified, side_of
from devlint.analysis.values import objects, operands, partial_batch_move
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.containers import forget_batch, is_batch
from devlint.analysis.values.devices import check_use
from devlint.analysis.values.modules import device_of_whole
from devlint.domain.body import Side
from devlint.domain.device import CHOSEN_BY_CALLER, Concrete
from devlint.domain.environment import Environment
from devlint.domain.given_object import PassedObject, itself
from devlint.domain.heap import DictObject, Instance, ListObject
from devlint.domain.place import AccessPath, StepKind
from devlint.domain.summary import Entry, Held, Requirement, Summary
from devlint.domain.value import (
    UNKNOWN,
    Closure,
    Constant,
    DeviceValue,
    Kind,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    is_lost,
    present,
)
from devlint.frontend.ir import Function, Span

DEEPEST_CALL = 12
"""How far calls are followed that are executed with their caller's objects."""


def bind_to_function(
    frame: Frame, env: Environment, closure: Closure, arguments: Arguments, span: Span
) -> dict[str, ArgumentValue] | None:
    """Arguments by parameter name; None when they do not fit.

    Where some could not be counted, a parameter that no other argument is for may be given anything.
    """
    frame.program.note_looked_at(closure)
    bound: dict[str, ArgumentValue] = {}
    positional = list(arguments.positional)
    keywords = dict(arguments.keywords)
    exact, anything = arguments.exact, ArgumentValue(UNKNOWN, span)
    for parameter in closure.function.parameters:
        if parameter.kind == "args":
            span = positional[0].span if positional else parameter.span
            given = TupleValue(tuple(given.value for given in positional))
            bound[parameter.name] = ArgumentValue(given, span) if exact else anything
            positional = []
        elif parameter.kind == "kwargs":
            items = tuple((name, given.value) for name, given in keywords.items())
            identity = frame.new_object(span, "keywords")
            env.heap[identity] = DictObject(items, complete=exact)
            bound[parameter.name] = ArgumentValue(Reference(identity), span)
            keywords = {}
        elif parameter.kind in ("positional", "normal") and positional:
            bound[parameter.name] = positional.pop(0)
        elif parameter.kind != "positional" and parameter.name in keywords:
            bound[parameter.name] = keywords.pop(parameter.name)
        elif not exact:
            bound[parameter.name] = anything
        elif not parameter.has_default:
            return None
    if positional or keywords or not arguments.aligned:
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
    bound = bind_to_function(frame, env, closure, arguments, span)
    result = _call_bound(frame, env, closure, owner, arguments, bound, span)
    if result is None or bound is None:
        return result
    batches = {name: given.value for name, given in bound.items() if is_batch(given.value)}
    if batches:
        filled = frame.program.filled_parameters(closure.globals.file, closure.function)
        for name in sorted(batches.keys() & filled):
            forget_batch(env, batches[name])
    return result


def _call_bound(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    arguments: Arguments,
    bound: dict[str, ArgumentValue] | None,
    span: Span,
) -> Value | None:
    if bound is None or closure.function.is_stub or not (arguments.exact or _pays(frame, env, closure, bound)):
        _note_followed(frame, closure, None)
        frame.touches_devices = frame.touches_devices or not closure.function.is_stub
        return UNKNOWN
    for name, default in closure.defaults:
        if isinstance(default, Tensor):
            bound.setdefault(name, ArgumentValue(default, span))
    _note_call(frame, env, closure, bound, span)
    general = device_free.summary(frame, env, closure, owner, bound)
    if general is not None:
        _note_followed(frame, closure, general.skipped)
        return apply(frame, env, general, bound, closure, span)
    own = own_object_of(frame, env, closure, owner, bound)
    others = bound if own is None else {name: given for name, given in bound.items() if name != own.place.name}
    if stays_with_caller(env, closure, others) or knows_its_maker(closure):
        return _execute_here(frame, env, closure, owner, bound, span)
    entry: dict[str, Held | PassedObject] = {**entry_of(frame, env, closure, others)}
    if own is not None:
        entry[own.place.name] = own
    summary = frame.program.summarise(frame, closure, owner, entry, env)
    methods = {name for name, given in bound.items() if is_plain_method(given.value)}
    if _needs_values(summary, own, methods) or (
        own is not None and _answers_tests(frame, env, own, summary, bound, span)
    ):
        return _execute_here(frame, env, closure, owner, bound, span)
    _note_followed(frame, closure, None if summary is None else summary.skipped)
    if summary is None:
        return UNKNOWN
    exact = {name: given.value for name, given in bound.items() if is_exact(given.value)}
    tested = {place.root_name for place in summary.tested} & exact.keys()
    if tested:
        entry = {**entry, **{name: exact[name] for name in tested}}
        exactly = frame.program.summarise(frame, closure, owner, entry, env)
        summary = summary if exactly is None or exactly.needs_object else exactly
    result = apply(frame, env, summary, bound, closure, span)
    if result is not None and is_lost(result) and exact.keys() - tested:
        summary = frame.program.summarise(frame, closure, owner, {**entry, **exact}, env)
        if summary is not None and summary.returns is not None and not (summary.stores or summary.escaped):
            return Substitution(frame, env, bound, span, set()).value(summary.returns, dict(summary.heap))
    return result


def _needs_values(summary: Summary | None, own: PassedObject | None, methods: Set[str]) -> bool:
    """Whether a body has to be executed with the values of a call: its object, or a method that the body calls."""
    if summary is None:
        return own is not None
    return summary.needs_object or not methods.isdisjoint(place.root_name for place in summary.called)


def _answers_tests(
    frame: Frame,
    env: Environment,
    own: PassedObject,
    summary: Summary | None,
    bound: Mapping[str, ArgumentValue],
    span: Span,
) -> bool:
    """Whether the object of a call says what a test does that the summary leaves open."""
    tested = () if summary is None else summary.tested
    parts = [place for place in tested if place.root == own.place.root and place.steps]
    if not parts:
        return False
    of_own = Substitution(frame, env, bound, span, set())
    return any(_is_answer(of_own.lookup(place)) for place in parts)


def _note_call(
    frame: Frame, env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue], span: Span
) -> None:
    recorded = frame.recorded
    if recorded is not None:
        given = handed_over.of(frame, recorded, env, bound, span)
        call = CallSite(recorded.file, frame.program.place(frame.file, span))
        frame.program.note_call(recorded, env, closure, given, call)


def _note_followed(frame: Frame, closure: Closure, skipped: frozenset[Side] | None, *, here: bool = False) -> None:
    """Notes how a recorded call was followed, see `Followed`."""
    if frame.recorded is not None:
        caller = frame.body if frame.recording and isinstance(frame.scope, Function) else None
        frame.program.note_followed(closure, Followed(caller, here, skipped), frame.recorded.file)


def hands_back(frame: Frame, env: Environment, closure: Closure, span: Span) -> bool:
    """Whether a function returns what it is given, whatever that is, and does nothing else that matters here.

    Most decorators that register functions are such; one summary then stands for all that they decorate.
    """
    bound = bind_to_function(frame, env, closure, Arguments((ArgumentValue(UNKNOWN, span),), ()), span)
    if bound is None or len(bound) != 1 or closure.function.is_stub or closure.decorated:
        return False
    entry = entry_of(frame, env, closure, bound)
    (parameter,) = bound
    value = entry[parameter]
    if isinstance(value, (ListObject, DictObject, Instance)):
        return False
    summary = frame.program.summarise(frame, closure, None, entry, env)
    if summary is None:
        return False
    return replace(
        summary, heap=(), touches_devices=False, called=frozenset(), tested=frozenset(), is_whole=True
    ) == Summary(value)


def call_forward(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    module: Reference,
    function: ArgumentValue,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """A call of a module of the program: its `forward` by summary, with the module's parts in place of `self`.

    Where the summary cannot say what a part does that is called, as the class of the part is not known from the class
    of the module, but from this module, the body is executed with this module.
    """
    bound = bind_to_function(
        frame, env, closure, arguments.behind(ArgumentValue(module, function.span, function.place)), span
    )
    held = env.heap.get(module.object)
    if bound is None or not isinstance(held, Instance) or closure.function.is_stub:
        return UNKNOWN
    first = closure.function.parameters[0].name
    _note_call(frame, env, closure, bound, span)
    entry = entry_of(frame, env, closure, {name: given for name, given in bound.items() if name != first})
    summary = frame.program.summarise(frame, closure, owner, entry, env, itself(held.cls))
    if summary is None:
        _note_followed(frame, closure, None)
        return UNKNOWN
    of_own = Substitution(frame, env, {first: bound[first]}, span, set())
    if _can_follow(frame, closure) and (
        any(_knows_code(env, held, first, place) for place in summary.called)
        or any(_is_answer(of_own.lookup(place)) for place in summary.tested)
    ):
        return _execute_here(frame, env, closure, owner, bound, span)
    _note_followed(frame, closure, summary.skipped)
    result = apply(frame, env, summary, {**bound, "self": bound[first]}, closure, span, calls_module=True)
    is_open = isinstance(result, Opaque) or (result is not None and is_lost(result))
    if is_open and isinstance(device_of_whole(frame, env, module), Concrete):
        executed = _execute_here(frame, env, closure, owner, bound, span, quiet=True)
        return result if executed == UNKNOWN else executed
    return result


def _knows_code(env: Environment, module: Instance, own: str, place: AccessPath) -> bool:
    """Whether a module has a part that is known where its class has something unknown that is called."""
    steps = place.steps
    if place.root != own or not steps or steps[0].kind is not StepKind.ATTRIBUTE:
        return False
    if len(steps) > 1 and not steps[1].is_member:
        return False
    value = present(module.get(str(steps[0].key)) or UNKNOWN)
    return isinstance(value, Reference) and env.heap.get(value.object) is not None


def _is_answer(value: Value) -> bool:
    """Whether a value says what a test or an operation does that the class leaves open."""
    return isinstance(value, (Constant, DeviceValue, Reference)) or is_exact(value)


def _can_follow(frame: Frame, closure: Closure) -> bool:
    """Whether the budget allows to execute one more body with the objects of its caller."""
    budget = frame.budget
    return len(budget.running) < DEEPEST_CALL and budget.left > 0 and closure.function not in budget.running


def construct(
    frame: Frame,
    env: Environment,
    cls: UserClass,
    closure: Closure,
    owner: UserClass,
    arguments: Arguments,
    span: Span,
) -> Reference | None:
    """A new object of a class by the summary of its `__init__`; None where that takes more than a summary.

    It does where the class is given other objects, since these may be changed, and where it stores nothing, or
    functions that know the new object.
    """
    parameters = closure.function.parameters
    if not parameters or closure.function.is_stub:
        return None
    name = parameters[0].name
    new = handed(name)
    bound = bind_to_function(frame, env, closure, arguments.behind(ArgumentValue(new, span)), span)
    if bound is None:
        return None
    for other, default in closure.defaults:
        if isinstance(default, Tensor):
            bound.setdefault(other, ArgumentValue(default, span))
    given = {other: value for other, value in bound.items() if other != name}
    if stays_with_caller(env, closure, given):
        return None
    entry: Entry = {name: blank(cls, env.default), **entry_of(frame, env, closure, given)}
    summary = frame.program.summarise(frame, closure, owner, entry, env)
    if summary is None or summary.returns is None or not summary.is_whole or new.object not in dict(summary.heap):
        return None
    _note_call(frame, env, closure, given, span)
    _note_followed(frame, closure, summary.skipped)
    made = apply(frame, env, replace(summary, returns=new), bound, closure, span)
    assert isinstance(made, Reference)
    return made


def _pays(frame: Frame, env: Environment, closure: Closure, bound: Mapping[str, ArgumentValue]) -> bool:
    """Whether a call is followed though not all of its arguments could be counted.

    One that is given a tensor is, and one of an object to itself, most often `super().__init__(*args, **kwargs)`.
    Others build whole models of which nothing else is known.
    """
    if not stays_with_caller(env, closure, bound):
        values = [given.value for given in bound.values()]
        return any(isinstance(v, Tensor) or (isinstance(v, Opaque) and frame.kind(v) is Kind.TENSOR) for v in values)
    parameters = closure.function.parameters
    own = own_object(frame, env)
    return own is not None and bool(parameters) and bound[parameters[0].name].value == own


def _execute_here(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    bound: Mapping[str, ArgumentValue],
    span: Span,
    *,
    quiet: bool = False,
) -> Value | None:
    """Executes the body with the caller's objects; `quiet` when its conflicts have been reported already."""
    budget = frame.budget
    if not _can_follow(frame, closure):
        _note_followed(frame, closure, None)
        return forget(frame, env, bound)
    budget.left -= 1
    budget.running.add(closure.function)
    defaults = dict(closure.defaults)
    names = {**defaults, **{name: given.value for name, given in bound.items()}}
    site = f"{frame.site}{span.line}:{span.column}>"
    # What the body says of devices that differ belongs to the body's own analysis; here it is the call's.
    outcome = run(frame, closure, owner, names, env, site=site)
    budget.running.discard(closure.function)
    _note_followed(frame, closure, outcome.frame.left_out, here=True)
    frame.touches_devices |= outcome.frame.touches_devices
    frame.called |= outcome.frame.called
    frame.tested |= set(device_free.through(outcome.frame.tested, bound))
    use_devices(frame, env, outcome.frame.uses, closure, span)
    for file, where, fact in outcome.frame.deferred:
        frame.record_at(file, where, fact)
    if not quiet:
        leading = LeadingCall(frame, env, bound, span)
        for one in requirements(outcome):
            if one.always:
                conflicts.require(frame, env, leading.led(_from_inside(one)))
        for conflict in outcome.frame.conflicts:
            leading.report(_from_inside(conflict))
    mends = recovery.of_call(frame, env, bound, outcome.frame.conflicts)
    if outcome.env is None or outcome.value is None:
        return None
    env.heap, env.mended = env.heap.take(outcome.env.heap), outcome.env.mended
    recovery.move(frame, env, mends, span)
    env.current, env.default, env.process = outcome.env.current, outcome.env.default, outcome.env.process
    env.checked = env.checked or outcome.env.checked
    return outcome.value


def use_devices(frame: Frame, env: Environment, uses: Iterable[DeviceValue], closure: Closure, span: Span) -> None:
    """Devices that a called body uses are used by the call; those it names itself are its own affair.

    So is a device that a call in it has from the file of what it calls, as by a default: it is told of at that call.
    """
    whole, file = closure.function.span, closure.globals.file
    for found in uses:
        origin = found.origin
        if origin is None:
            continue
        if origin.file == file and whole.line <= origin.span.line <= whole.end_line:
            continue
        count = len(frame.uses)
        check_use(frame, env, found, span)
        if len(frame.uses) > count and origin.file == file != frame.file:
            frame.uses[count] = replace(found, origin=replace(origin, file=frame.file, span=span))


def forget(frame: Frame, env: Environment, bound: Mapping[str, ArgumentValue]) -> Value:
    """A call that is not followed may do anything to the objects it is given."""
    for given in bound.values():
        objects.escape(env, given.value)
    return UNKNOWN


def apply(
    frame: Frame,
    env: Environment,
    summary: Summary,
    bound: Mapping[str, ArgumentValue],
    closure: Closure,
    span: Span,
    *,
    calls_module: bool = False,
) -> Value | None:
    """What a call with these arguments does, by the function's summary."""
    substitution = Substitution(frame, env, bound, span, set(), calls_module)
    use_devices(frame, env, summary.uses, closure, span)
    frame.default_device_callees |= summary.default_device_callees
    frame.touches_devices |= summary.touches_devices
    frame.called.update(device_free.called_through(summary.called, bound))
    frame.tested.update(device_free.through(summary.tested, bound))
    if not env.fallback:
        leading = LeadingCall(frame, env, bound, span)
        for requirement in summary.requires:
            _require(leading, substitution, requirement)
    env.checked = env.checked or summary.checks
    if summary.default is not None:
        env.default = summary.default
    if not isinstance(summary.current, str):
        env.current = summary.current
    env.process = env.process.then(summary.process)
    if summary.returns is None:
        return None
    substitution.keeps_computed = bool(summary.stores)
    made = dict(summary.heap)
    result = substitution.value(summary.returns, made)
    substitution.store(summary.stores, summary.escaped, made)
    return result


def _require(leading: LeadingCall, substitution: Substitution, requirement: Requirement) -> None:
    """Checks one requirement of a summary with the caller's devices."""
    frame, env, span = leading.frame, leading.env, leading.span
    if CHOSEN_BY_CALLER in (requirement.first.device, requirement.second.device):
        return  # the summary does not name the arguments that share this device
    first = side_of(substitution, requirement.first, span)
    second = side_of(substitution, requirement.second, span)
    if first.name == second.name:
        first, second = qualified(first, requirement.first), qualified(second, requirement.second)
    if operands.is_exempt(first) or operands.is_exempt(second) or not conflicts.may_meet(frame, env, first, second):
        return
    strays, left = conflicts.on_one_path(first, second), partial_batch_move.pairs_left_behind(frame, [(first, second)])
    for one, other in ((first, second), *strays, *left):
        kind = conflicts.judge(frame, one, other, inside=True)
        if kind is not None:
            said = wording(requirement.operation, one, other)
            clash = replace(requirement, kind=kind, first=one, second=other, message=said)
            if requirement.always or requirement.met or substitution.calls_own_method:
                leading.report(conflicts.ordered(clash))
                substitution.mended.update(recovery.of_arguments(requirement, first, second))
                recovery.move(frame, env, recovery.of_call(frame, env, substitution.bound, (clash,)), span)
            return
    if requirement.kind not in OF_ONE_VALUE:  # of one value alone, the called function tells itself
        operands.note_joined(frame, env, span, (first, second))
    if conflicts.is_open(first, second):
        said, always = wording(requirement.operation, first, second), requirement.always and env.always
        passed_on = replace(requirement, first=first, second=second, message=said, always=always)
        passed_on = leading.led(passed_on)
        if requirement.always:
            conflicts.require(frame, env, passed_on)
        else:
            frame.requirements.append(passed_on)


def _from_inside(requirement: Requirement) -> Requirement:
    return replace(requirement, first=from_inside(requirement.first), second=from_inside(requirement.second))
