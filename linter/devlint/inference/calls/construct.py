"""New objects: of the project's classes, and of the classes of libraries."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.calls.attributes import named, read
from devlint.inference.libraries.python import FIELD_OF_CLASS
from devlint.inference.libraries.signatures import fitted, solve
from devlint.inference.requirements.causes import note_default
from devlint.inference.state.containers import get
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.where import default_device
from devlint.inference.values.code import ClassCode
from devlint.inference.values.objects import (
    LIBRARY,
    MODULE,
    OBJECT,
    Function,
    Instance,
    bound,
    class_value,
    library,
)
from devlint.inference.values.ranks import highest, number
from devlint.inference.values.tensors import tensor
from devlint.inference.values.terms import (
    ABSENT,
    DEVICE,
    FALSE,
    NO_DEVICE,
    NONE,
    RANK,
    SOURCE,
    TRUE,
    UNKNOWN,
    Term,
    Value,
    attribute,
    constant,
)
from devlint.torchlib.knowledge import FROM_NUMBERS
from devlint.torchlib.signature import ModuleTerm, ObjectTerm, TensorTerm

NO_FIELD = library("dataclasses.InitVar")
"""The annotation of an argument that a dataclass hands to `__post_init__` and does not keep."""


def construct(frame: Frame, code: ClassCode, arguments: Arguments, span: ir.Span) -> Value:
    """Return a new object of a class of the project."""
    made = frame.make(OBJECT, span, class_value(code))
    frame.engine.demand.make(frame.body, code)
    found = code.lookup("__init__")
    if isinstance(found, Function):
        frame.engine.call(frame, bound(found, made), arguments, span)
        if code.is_module:
            note_default(frame, made, found.body, arguments, span)
        return made
    init = read(frame, made, "__init__", span) if code.libraries and not code.is_open else UNKNOWN
    if init is not UNKNOWN:
        frame.engine.call(frame, init, arguments, span)
    else:
        _fill_fields(frame, made, code, arguments, span)
    return made


def _fill_fields(frame: Frame, made: Instance, code: ClassCode, arguments: Arguments, span: ir.Span) -> None:
    """Store the arguments of a dataclass in its fields, and call `__post_init__` with those that are no fields."""
    fields = {name: (each.file, kind) for each in reversed(code.order) for name, kind in each.scope.fields}
    position, handed = 0, []
    for name, (file, kind) in fields.items():
        default = code.lookup(name)
        stated = default.arguments if isinstance(default, Term) and default.operator == FIELD_OF_CLASS else None
        is_argument = stated is None or stated[2] is not FALSE
        given = arguments.at(position, name) if is_argument else None
        position += is_argument
        value = given
        if value is None and stated is not None and stated[1] is not ABSENT:
            value = frame.engine.call(frame, stated[1], Arguments([], {}), span)
        elif value is None:
            value = default if stated is None else stated[0]
        if given is None and is_argument and arguments.spread is not None:
            value = UNKNOWN
        elif given is None and is_argument and arguments.row is not None:
            value = get(frame, arguments.row, constant(name), UNKNOWN if value is None else value)
        if kind is not None and named(frame, file, kind.names[0]) is NO_FIELD:
            handed.append(UNKNOWN if value is None else value)
        else:
            frame.heap.put(made, attribute(name), UNKNOWN if value is None else value)
    found = code.lookup("__post_init__")
    if isinstance(found, Function):
        frame.engine.call(frame, bound(found, made), Arguments(handed, {}), span)


def construct_library(frame: Frame, name: str, arguments: Arguments, span: ir.Span) -> Value:
    """Make an object of a library class; its constructor's signature decides its device."""
    stubs = frame.engine.stubs
    kind = MODULE if stubs.is_module_class(name) else LIBRARY
    made = frame.make(kind, span, library(name))
    return initialize(frame, made, name, arguments, span)


def initialize(frame: Frame, made: Value, name: str, arguments: Arguments, span: ir.Span) -> Value:
    """Apply the signature of a library constructor to a new object.

    Return the object, or the tensor that the constructor makes instead.
    """
    stubs = frame.engine.stubs
    found = fitted(frame, stubs, stubs.method(name, "__init__") or (), arguments.behind(made))
    heap, is_stateless = frame.heap, stubs.is_stateless(name)
    if found is None:
        return made
    solved = solve(frame, stubs, name, found, span)
    for term in found.form.returns:
        if isinstance(term, TensorTerm):
            where = solved.devices.get(term.device, default_device(frame))
            is_parameter = name == "torch.nn.Parameter"
            source = solved.sources.get(term.device, NONE)
            rank = highest(*solved.ranks) if solved.ranks else UNKNOWN
            return tensor(where, rank, TRUE if is_parameter else NONE, frame.source() if source is NONE else source)
        if isinstance(term, ObjectTerm):  # it may have no parameters: nobody tells where it is
            return made
    where = solved.devices.get("E", NO_DEVICE)
    is_scalar = any(each.name == FROM_NUMBERS for each in found.form.parameters) and not solved.ranks
    if (
        is_stateless
        and not is_scalar
        and not any(isinstance(term, ModuleTerm) for term in found.form.returns)
        and "E" not in solved.devices
    ):
        where = NO_DEVICE
    elif where is NO_DEVICE and not is_stateless and stubs.is_module_class(name):
        where = default_device(frame)
    heap.put(made, DEVICE, where)
    source = solved.sources.get("E", NONE)
    heap.put(made, SOURCE, frame.source() if source is NONE else source)
    if is_scalar or (solved.ranks and number(highest(*solved.ranks)) == 0):
        heap.put(made, RANK, constant(0))
    return made
