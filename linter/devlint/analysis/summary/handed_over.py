"""The devices of the arguments of one call, by place in the parameters of the called function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from devlint.analysis.demand.callers import Given, Parameter, Where
from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.analysis.values import modules, objects, operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.device import CPU, Concrete, Device, Variable, variables_of
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.place import EACH, AccessPath, AccessStep, named
from devlint.domain.provenance import Origin
from devlint.domain.value import UNKNOWN, DeviceValue, MaybeNone, Opaque, Reference, Tensor, TupleValue, Value
from devlint.frontend.ir import Span

DEEPEST_PART = 2
MOST_PARTS = 64
"""How deep an argument is searched for tensors, and how many parts of each container."""

_PLACED = (OriginKind.MOVED, OriginKind.MODULE, OriginKind.CREATED)
"""Events that put a tensor on the device of another value: the program chose that device."""


def of(
    frame: Frame, recorded: Frame, env: Environment, bound: Mapping[str, ArgumentValue], span: Span
) -> dict[AccessPath, set[Given]]:
    """Return the devices of the arguments of a call, by place in the parameters: `x`, `batch['x']`, `rows[*]`.

    A place is left out if it holds neither a tensor, a module or a device, nor a list, a tuple or a dict.

    Args:
        frame: the execution that comes to the call.
        recorded: the one that it is a part of, whose parameters have not been replaced by what callers hand over.
        env: what holds there.
        bound: the arguments by parameter.
        span: the call.
    """
    parameters = frame.program.recorder.demand.parameters(recorded.body)
    in_module = recorded.owner is not None and classes.is_module(recorded.owner)
    found: dict[AccessPath, set[Given]] = {}
    for name, argument in bound.items():
        if name == "self":
            continue  # what a method finds in its own object is no matter of its calls
        for place, value in _parts(frame, env, named(name), argument.value, DEEPEST_PART):
            given = set(_of(frame, env, value, parameters, in_module))
            if Where.UNKNOWN in given and span in frame.program.moved_later(frame.scope, frame.globals):
                given = given - {Where.UNKNOWN} | {Where.CPU}
            if given:
                found.setdefault(place, set()).update(given)
    return found


def _parts(
    frame: Frame, env: Environment, place: AccessPath, value: Value, depth: int
) -> Iterator[tuple[AccessPath, Value]]:
    """A value at a place, and its parts."""
    if isinstance(value, MaybeNone):
        value = value.present
    yield place, value
    if depth == 0 or modules.is_module(frame, env, value):
        return
    for steps, part in _held(env, value):
        for step in steps:
            yield from _parts(frame, env, place.step(step), part, depth - 1)


def _held(env: Environment, value: Value) -> Iterator[tuple[tuple[AccessStep, ...], Value]]:
    """What a container holds, each with the steps that lead there."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else value
    match held:
        case TupleValue(items=tuple() as items) | ListObject(items=tuple() as items):
            for position, part in enumerate(items[:MOST_PARTS]):
                yield (AccessStep.item(position), EACH), part
        case ListObject():
            yield (EACH,), held.rest
        case DictObject():
            for key, part in held.items[:MOST_PARTS]:
                yield (AccessStep.item(key), EACH), part
            yield (EACH,), held.rest
        case Instance():
            for name, part in held.attributes[:MOST_PARTS]:
                yield (AccessStep.attribute(name),), part


def _of(
    frame: Frame, env: Environment, value: Value, parameters: Mapping[str, Parameter], in_module: bool
) -> Iterator[Given]:
    if objects.is_read_as_array(env, value):
        yield Where.CPU
        return
    if value == UNKNOWN:
        yield Where.UNKNOWN
        return
    held = env.heap.get(value.object) if isinstance(value, Reference) else value
    if isinstance(held, TupleValue) or (isinstance(held, (ListObject, DictObject)) and held.module is None):
        yield Where.NO_TENSOR
        return
    device: Device
    origin: Origin | None
    if isinstance(value, (Tensor, Opaque, DeviceValue)):
        device, origin = operands.resolve(env, value.device), value.origin
    elif isinstance(value, Reference) and modules.is_module(frame, env, value):
        device, origin = modules.module_device(frame, env, value)
    else:
        return
    if isinstance(device, Concrete):
        if device.type != "meta":
            yield Where.CPU if device == CPU else Where.ACCELERATOR
        return
    variables = variables_of(device)
    for variable in variables:
        yield _of_variable(variable, origin, parameters, in_module)
    if not variables:
        yield Where.UNKNOWN


def _of_variable(
    variable: Variable, origin: Origin | None, parameters: Mapping[str, Parameter], in_module: bool
) -> Given:
    root = variable.root
    if variable.names_device:
        return Where.ACCELERATOR
    if root in parameters:
        return parameters[root][0], variable.value_place
    if (root == "self" and in_module) or (origin is not None and origin.kind in _PLACED):
        return Where.ACCELERATOR
    return Where.UNKNOWN
