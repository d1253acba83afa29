"""Executing the body of a function: the names it begins with, and what it leaves behind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from devlint.analysis.execution.frame import Frame, InferredKinds
from devlint.analysis.index import docstrings
from devlint.analysis.index.classes import is_module, is_open
from devlint.analysis.interpreter import closures, statements
from devlint.analysis.summary.outcome import Outcome
from devlint.analysis.values import objects, occurrences
from devlint.analysis.values.narrowing import choice
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Variable, parse
from devlint.domain.environment import Environment
from devlint.domain.given import GivenConstant
from devlint.domain.heap import Heap, Instance, LibraryObject, Optimizer
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import named
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    ARRAY,
    DTYPE,
    NUMBER,
    UNKNOWN,
    Closure,
    Constant,
    DeviceType,
    DeviceValue,
    Globals,
    Kind,
    MaybeNone,
    Opaque,
    Predicate,
    Reference,
    Tensor,
    UserClass,
    Value,
)
from devlint.frontend.ir import Annotation, Parameter
from devlint.torchlib import knowledge
from devlint.torchlib.knowledge import DEVICE, MODULE, PARAMETER, TENSOR, TENSOR_NAMES

_HOST_DEVICE = re.compile(r"(cpu|host)_device|device_(cpu|host)")
"""A parameter of such a name is the CPU, for moves to it."""

SEQUENCES = frozenset(
    f"{module}.{name}"
    for module, names in (
        ("builtins", ("list", "tuple")),
        ("typing", ("List", "Tuple", "Sequence")),
        ("collections.abc", ("Sequence",)),
    )
    for name in names
)
"""Annotations of what has a length: a tensor made from it has dimensions."""

_ON_HOST = re.compile(r"(^|_)(cpu|host|state_dict)(_|$)")
"""A parameter of such a name is not one that follows the accelerator: `x_host`, `cpu_state`, what has been loaded."""


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
            default = defaults.get(parameter.name)
            value = symbol(frame, closure, parameter, default, is_input)
            left_out = default == Constant(None) and isinstance(value, Opaque) and value.kind is Kind.TENSOR
            names[parameter.name] = MaybeNone(value) if left_out else value
    return names


def _is_cpu(default: Value) -> bool:
    if isinstance(default, DeviceValue):
        return default.device == CPU
    return isinstance(default, Constant) and default.value in ("cpu", "cpu:0")


def _is_forward(frame: Frame, owner: UserClass | None, closure: Closure) -> bool:
    return owner is not None and closure.function.name.endswith(".forward") and is_module(owner)


def symbol(frame: Frame, closure: Closure, parameter: Parameter, default: Value | None, is_input: bool) -> Value:
    """A parameter about which only its declaration is known."""
    name, place = parameter.name, named(parameter.name)
    function = closure.function.name
    whose = "a lambda" if function.endswith("<lambda>") else f"`{function}`"
    told = f"`{name}` is an argument of {whose}"
    origin = Origin(told, closure.globals.file, parameter.span, OriginKind.PARAMETER)
    names = annotated(frame, closure.globals, parameter.annotation)
    if parameter.annotation is None and name in docstrings.tensors(closure.function.documentation):
        names = frozenset({TENSOR})
    wanted = names - {"None", "typing.Any"}
    if wanted == {"builtins.bool"} and choice(name) != Predicate():
        return choice(name)
    if wanted and wanted <= {"builtins.int", "builtins.float", "builtins.bool"}:
        return NUMBER if "None" not in names else Opaque(place, Kind.ANY, UNKNOWN_DEVICE, origin)
    if wanted <= {DEVICE} and _HOST_DEVICE.fullmatch(name):
        return DeviceValue(CPU, True, origin)
    if wanted == {DEVICE}:
        if "None" in names or default == Constant(None):
            return Opaque(place, Kind.ANY, Variable(place), origin)
        return DeviceValue(Variable(place), True, origin)
    if wanted == {"numpy.ndarray"}:
        return ARRAY
    if wanted == {knowledge.DTYPE} and name != "device":  # which is declared like the `dtype` beside it by mistake
        return DTYPE
    if _ON_HOST.search(name):
        return Opaque(place, Kind.TENSOR if wanted and wanted <= TENSOR_NAMES else Kind.ANY, UNKNOWN_DEVICE, origin)
    if wanted == {PARAMETER}:
        registered = Tensor(Variable(place), None, TensorRole.PARAMETER, origin)
        return registered if "None" not in names else MaybeNone(registered)
    if wanted and wanted <= TENSOR_NAMES:
        return Opaque(place, Kind.TENSOR, Variable(place), origin)
    if wanted and wanted <= TENSOR_NAMES | {"numpy.ndarray"}:
        return Opaque(place, Kind.ARRAY, Variable(place), origin)
    if wanted == {MODULE}:
        return Opaque(place, Kind.MODULE, Variable(place), origin)
    if wanted and _is_of_program(frame, closure.globals, parameter.annotation):
        return Opaque(place, Kind.OTHER, Variable(place), origin)
    kind = Kind.TENSOR if is_input and not wanted else Kind.ANY
    return Opaque(place, kind, Variable(place), origin)


def _is_of_program(frame: Frame, globals_: Globals, annotation: Annotation | None) -> bool:
    """Whether an annotation names classes of the program alone, which are no tensors or modules."""
    names = () if annotation is None else [name for name in annotation.names if name != "None"]
    classes = [frame.program.binding(globals_, name) for name in names]
    return all(isinstance(cls, UserClass) and not (is_open(cls) or is_module(cls)) for cls in classes)


def annotated(frame: Frame, globals_: Globals, annotation: Annotation | None) -> frozenset[str]:
    """The alternatives of an annotation in a file as qualified names."""
    if annotation is None:
        return frozenset()
    return frozenset(frame.program.qualified(globals_, name) for name in annotation.names)


def declared_tensors(frame: Frame, cls: UserClass) -> Iterator[str]:
    """The attributes that the body of a class, or of one that it inherits from, declares to be tensors."""
    for item in cls.lineage:
        if isinstance(item, UserClass):
            for field in item.declared:
                wanted = annotated(frame, item.globals, field.annotation) - {"None"}
                if wanted and wanted <= TENSOR_NAMES:
                    yield field.name


def _expect(frame: Frame, closure: Closure, parameter: Parameter) -> None:
    """What the annotation of a parameter says of it: whether it has a length, and which of its parts are tensors."""
    annotation = parameter.annotation
    if annotation is None:
        return
    place = named(parameter.name)
    of_element = annotated(frame, closure.globals, annotation.element)
    if of_element and of_element <= TENSOR_NAMES:
        frame.proofs.kinds[place.each()] = Kind.TENSOR
    wanted = annotated(frame, closure.globals, annotation) - {"None"}
    if wanted and wanted <= SEQUENCES:
        frame.proofs.dimensional.add(place)
    for name in annotation.names:
        cls = frame.program.binding(closure.globals, name)
        if isinstance(cls, UserClass) and not is_module(cls):
            for attribute in declared_tensors(frame, cls):
                path = place.attribute(attribute)
                frame.proofs.kinds[path] = Kind.TENSOR
                frame.proofs.followed.add(path)


def run(
    caller: Frame,
    closure: Closure,
    owner: UserClass | None,
    names: dict[str, Value],
    env: Environment,
    *,
    site: str,
    recording: bool = False,
    proofs: InferredKinds | None = None,
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
        InferredKinds() if proofs is None else proofs,
        caller.depth + 1,
        frozenset(name for name, default in closure.defaults if _is_cpu(default)),
    )
    frame.budget, frame.within = caller.budget, caller.recorded
    with frame.program.executing(closure):
        for parameter in function.parameters:
            _expect(frame, closure, parameter)
        inner = replace(env, names=names, heap=env.heap.above(), assumptions=dict(env.assumptions))
        inner.always, inner.compared = True, frozenset()
        if recording and frame.program.observing:
            occurrences.observe_parameters(frame, function, inner)
        after = statements.execute(frame, function.body, inner)
        if after is not None:
            frame.leave(after, Constant(None))
        closures.settle(frame)
        frame.touches_devices = frame.touches_devices or _touches_devices(frame, inner.heap)
        if caller.program.default_of(closure.globals) == CPU != env.default:
            frame.default_device_callees.add(function)
        caller.default_device_callees |= frame.default_device_callees
        value = frame.result
        if function.is_generator:
            value = objects.generator(frame, frame.returned, frame.yielded)
        return Outcome(frame, frame.returned, value)


def _touches_devices(frame: Frame, heap: Heap) -> bool:
    """Whether an execution has come to anything that is on a device, or names one."""
    return any(_is_on_device(heap, value) for value in frame.registers)


def _is_on_device(heap: Heap, value: Value) -> bool:
    match value:
        case Tensor() | DeviceValue() | DeviceType():
            return True
        case GivenConstant():
            return False  # the call has named it, if it names a device
        case Constant(value=str(text)):
            return parse(text) is not None
        case Reference():
            held = heap.get(value.object)
            return isinstance(held, (LibraryObject, Optimizer)) or (isinstance(held, Instance) and is_module(held.cls))
        case _:
            return False
