"""Attributes: read and written, with the properties of the project's classes."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.knowledge import code_of
from devlint.inference.libraries.table import HANDLED_READS, CallSite, method_handler
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import move, replace, set_data
from devlint.inference.state.where import SAME_TENSOR, device_of, device_of_module, is_module, rank_of, source_of
from devlint.inference.stubs import TENSOR_CLASS
from devlint.inference.values.code import ClassCode, FileCode
from devlint.inference.values.devices import TYPES
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import either, join, join_all
from devlint.inference.values.objects import (
    DICT,
    ENVIRONMENT,
    LIBRARY,
    LIST,
    MODULE,
    SET,
    ClassValue,
    FileValue,
    Function,
    Instance,
    Library,
    Super,
    Wrapped,
    bound,
    class_value,
    library,
    method,
    wrapped,
)
from devlint.inference.values.tensors import Alternatives, Array, Device, Tensor, Tuple, is_made_of, options, tensor
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    COMPUTED,
    DEVICE,
    INPUT,
    NO_DEVICE,
    NONE,
    NUMBER,
    OPTION,
    PARAMETER,
    SOURCE,
    TRUE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    attribute,
    constant,
    option,
    root,
    symbol,
    term,
)
from devlint.torchlib.signature import DeviceTerm, InstanceTerm, TensorTerm

MOVES: Final = frozenset({"to", "cuda", "cpu", "xpu", "mps", "ipu", "hpu", "npu"})
"""Methods that put a tensor or module somewhere."""

OF_DEVICES: Final = frozenset({"denoted", "meet", "target", "device_of"})
"""Operations of terms that stand for a device."""

OF_CLASSES: Final = frozenset(
    {("torch.autograd.Function", "apply"), ("lightning.LightningModule", "load_from_checkpoint")}
)
"""Class methods that classes of the project inherit from libraries."""

IS_OF_TYPE: Final = frozenset(f"is_{kind}" for kind in TYPES)
"""Attributes that tell whether a tensor is on a device of a type."""

CHOSEN_OUTSIDE: Final = frozenset({"sys.argv", "os.environ"})
"""Attributes of libraries that the user of a program sets."""


def read(frame: Frame, owner: Value, name: str, span: ir.Span) -> Value:
    """Return `owner.name`."""
    if isinstance(owner, (Root, Symbol)):
        return _of_symbol(frame, owner, name)
    if isinstance(owner, Tensor):
        return _of_tensor(frame, owner, name)
    if isinstance(owner, Instance):
        return _of_instance(frame, owner, name, span)
    if isinstance(owner, Library):
        full = f"{owner.name}.{name}"
        return root(OPTION, full) if full in CHOSEN_OUTSIDE else frame.engine.stubs.named(full)
    if isinstance(owner, FileValue):
        return frame.engine.member(frame, owner.file, name)
    if isinstance(owner, ClassValue):
        return _of_class(owner, name)
    if isinstance(owner, Super):
        return _of_super(frame, owner, name, span)
    if isinstance(owner, Alternatives):
        return join_all([read(frame, each, name, span) for each in owner.options if each not in (NONE, ABSENT)])
    if isinstance(owner, Term):
        return _of_term(frame, owner, name, span)
    if isinstance(owner, Device):
        return fold("device_type", owner) if name == "type" else NUMBER
    if isinstance(owner, Wrapped) and name in ("setter", "getter", "deleter"):
        return owner if name != "setter" else wrapped("setter", owner.function)
    if isinstance(owner, Array):
        return method(owner, "numpy.ndarray", name)
    if isinstance(owner, Tuple) and name in MOVES:
        frame.leave()  # Python raises
    if isinstance(owner, Constant) and isinstance(owner.value, str):
        return method(owner, "str", name)
    is_method = owner is UNKNOWN and (name in MOVES or frame.engine.stubs.is_tensor_method(name))
    return method(owner, "", name) if is_method else UNKNOWN


def _of_symbol(frame: Frame, owner: Root | Symbol, name: str) -> Value:
    held = frame.heap.get(owner, attribute(name))
    if held is not None:
        return UNKNOWN if held is ABSENT else present(held)
    code = code_of(frame, owner) if name in HANDLED_READS else None
    if code is not None and code.kind == "instance" and isinstance(code.what, tuple):
        found = _handled_read(frame, owner, str(code.what[1]), name)
        if found is not None:
            return found
    top = owner if isinstance(owner, Root) else owner.root
    default = frame.engine.options.get(top, {}).get(name, UNKNOWN) if top.kind == OPTION else UNKNOWN
    if default is not UNKNOWN and isinstance(owner, Symbol):
        return symbol(owner, option(name, default))
    if name == "device" and (owner in frame.kinds or top.kind == INPUT):
        return device_of(frame, owner)
    if name in IS_OF_TYPE:
        return fold("is_of_type", device_of(frame, owner), constant(name[3:]))
    return symbol(owner, attribute(name))


def _handled_read(frame: Frame, owner: Value, of: str, name: str) -> Value | None:
    """Return an attribute of an object of a library class that has a handler for reads of it; None if there is none."""
    handler = method_handler(frame, of, f".{name}")
    return None if handler is None else handler(CallSite(frame, of, name, owner, Arguments([], {}), frame.span))


def present(value: Value) -> Value:
    """Return the value of a field without ABSENT: Python raises if the field is absent."""
    if isinstance(value, Alternatives) and ABSENT in value.options:
        return join_all([each for each in value.options if each is not ABSENT])
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments[0], present(value.arguments[1]), present(value.arguments[2])
        return orelse if then is ABSENT else then if orelse is ABSENT else either(test, then, orelse)
    return value


def _of_tensor(frame: Frame, owner: Tensor, name: str) -> Value:
    if name == "device":
        return owner.device
    if name in IS_OF_TYPE:
        return fold("is_of_type", owner.device, constant(name[3:]))
    if name in SAME_TENSOR:
        return tensor(owner.device, owner.rank, owner.owner if name == "data" else NONE, owner.source)
    return method(owner, TENSOR_CLASS, name) if frame.engine.stubs.method(TENSOR_CLASS, name) else NUMBER


def _of_instance(frame: Frame, owner: Instance, name: str, span: ir.Span) -> Value:
    held = frame.heap.get(owner, attribute(name))
    if held is not None and held is not ABSENT:
        return present(held)
    if owner.kind in (LIST, DICT, SET):
        return method(owner, owner.kind, name)
    if isinstance(owner.of, ClassValue):
        found = owner.of.code.lookup(name)
        if found is not None:
            return _member(frame, found, owner, owner.of, span)
        for base in owner.of.code.libraries:
            inherited = _of_library(frame, owner, base, name)
            if inherited is not UNKNOWN:
                return inherited
        return frame.heap.get(owner, COMPUTED) or UNKNOWN
    if isinstance(owner.of, Library) and owner.kind in (MODULE, LIBRARY):
        declared = _of_library(frame, owner, owner.of.name, name)
        return term("attribute", owner, constant(name)) if declared is UNKNOWN and owner.kind == MODULE else declared
    return UNKNOWN if owner.kind != ENVIRONMENT else BOTTOM


def _member(frame: Frame, found: Value, owner: Value, of: ClassValue, span: ir.Span) -> Value:
    """Return a member of a class for an object of it."""
    if isinstance(found, Function):
        return bound(found, owner)
    if isinstance(found, Wrapped):
        if found.kind == "property":
            return frame.engine.call(frame, found.function, Arguments([owner], {}), span)
        return found.function if found.kind == "staticmethod" else bound(found.function, of)
    return found


def _of_library(frame: Frame, owner: Instance, of: str, name: str) -> Value:
    """Return an attribute that a class of a library declares."""
    stubs = frame.engine.stubs
    found = _handled_read(frame, owner, of, name) if name in HANDLED_READS else None
    if found is not None:
        return found
    if stubs.method(of, name) is not None or method_handler(frame, of, name) is not None:
        return method(owner, of, name)
    terms = stubs.attribute(of, name)
    if terms is None:
        return UNKNOWN
    where = device_of_module(frame, owner)
    for each in terms:
        if isinstance(each, DeviceTerm) and where is not NO_DEVICE:
            return where
        if isinstance(each, TensorTerm):
            rank = constant(each.rank) if isinstance(each.rank, int) else UNKNOWN
            is_parameter = owner.kind == MODULE or stubs.is_module_class(of)
            return tensor(where, rank, owner if is_parameter else NONE, source_of(frame, owner))
        if isinstance(each, DeviceTerm):
            return device_of_module(frame, owner)
        if isinstance(each, InstanceTerm) and stubs.is_module_class(each.cls):
            return _part(frame, owner, name, each.cls)
    return UNKNOWN


def _part(frame: Frame, owner: Instance, name: str, of: str) -> Value:
    """Return a module in a module of a library, which moves with it and may be replaced."""
    made = frame.make(MODULE, frame.span, library(of), f".{name}")
    frame.heap.put(made, DEVICE, device_of_module(frame, owner))
    frame.heap.put(made, SOURCE, source_of(frame, owner))
    frame.heap.put(owner, attribute(name), made)
    return made


def _of_class(owner: ClassValue, name: str) -> Value:
    found = owner.code.lookup(name)
    if isinstance(found, Wrapped):
        return bound(found.function, owner) if found.kind == "classmethod" else found.function
    if found is not None:
        return found
    for base in owner.code.libraries:
        if (base, name) in OF_CLASSES:
            return method(owner, base, name)
    return library(f"{owner.code.libraries[0]}.{name}") if owner.code.libraries else UNKNOWN


def _of_super(frame: Frame, owner: Super, name: str, span: ir.Span) -> Value:
    receiver = owner.receiver
    code = receiver.of.code if isinstance(receiver, Instance) and isinstance(receiver.of, ClassValue) else owner.owner
    found = code.lookup(name, owner.owner)
    if found is not None:
        return _member(frame, found, receiver, class_value(code), span)
    for base in owner.owner.libraries:
        if frame.engine.stubs.method(base, name) is not None:
            return method(receiver, base, name)
    return UNKNOWN


def _of_term(frame: Frame, owner: Term, name: str, span: ir.Span) -> Value:
    if owner.operator == "ite":
        test, then, orelse = owner.arguments
        if then is NONE or orelse is NONE:
            return read(frame, orelse if then is NONE else then, name, span)
        return either(test, read(frame, then, name, span), read(frame, orelse, name, span))
    if owner.operator == "asked":  # a number
        return UNKNOWN
    if owner.operator in OF_DEVICES:
        return fold("device_type", owner) if name == "type" else NUMBER
    if name == "device":
        return owner.arguments[1] if owner.operator == "to" else device_of(frame, owner)
    if name in IS_OF_TYPE:
        return fold("is_of_type", device_of(frame, owner), constant(name[3:]))
    if owner.operator == "to" and (name in MOVES or not frame.engine.stubs.is_tensor_method(name)):
        inner = read(frame, owner.arguments[0], name, span)
        return inner if name in MOVES or inner is UNKNOWN else term("attribute", owner, constant(name))
    if frame.engine.stubs.is_tensor_method(name):
        return method(owner, TENSOR_CLASS, name)
    return term("attribute", owner, constant(name))


def write(frame: Frame, owner: Value, name: str, value: Value, span: ir.Span) -> None:
    """Store `owner.name = value`; of one of several, it may be each."""
    held = options(owner)
    for each in held:
        setter = _setter(frame, each, name)
        if setter is not None:
            frame.engine.call(frame, setter, Arguments([each, value], {}), span)
        elif isinstance(each, (Root, Symbol, Instance)):
            _put(frame, each, name, value, len(held) > 1)
        elif isinstance(each, Tensor) and name == "data":
            set_data(frame, each, value)
        elif isinstance(each, Term) and each.operator == "attribute" and name == "data":  # perhaps a parameter
            move(frame, each.arguments[0], UNKNOWN, NONE)


def _setter(frame: Frame, owner: Value, name: str) -> Value | None:
    """Return the setter of a property; of `self` in a method, that of the class in which the method stands."""
    code: ClassCode | None = owner.of.code if isinstance(owner, Instance) and isinstance(owner.of, ClassValue) else None
    function = frame.body.function
    if isinstance(owner, Root) and owner.kind == PARAMETER and function is not None and function.parameters:
        code = frame.body.owner if owner.name == function.parameters[0].name else None
    found = code.lookup(name) if code is not None else None
    return found.setter if isinstance(found, Wrapped) and found.setter is not NONE else None


def _put(frame: Frame, owner: Root | Symbol | Instance, name: str, value: Value, is_one_of_several: bool) -> None:
    field = attribute(name)
    if name == "data" and (owner in options(value) or is_made_of(value, owner)):
        value = tensor(device_of(frame, value), rank_of(frame, value), NONE, source_of(frame, value))
    if is_one_of_several:
        before = frame.heap.get(owner, field)
        if before is None:
            before = symbol(owner, field) if not isinstance(owner, Instance) else ABSENT
        value = join(before, value)
    if isinstance(owner, Instance) and isinstance(value, Tensor) and frame.heap.get(owner, DEVICE) is not None:
        of = owner.of.name if isinstance(owner.of, Library) else next(iter(_libraries(owner)), "")
        if frame.engine.stubs.attribute(of, name) is not None:  # a parameter of a layer is replaced
            frame.heap.put(owner, DEVICE, value.device)
            frame.heap.put(owner, SOURCE, value.source)
    if isinstance(value, Tensor) and value.owner is TRUE and (is_module(owner) or not isinstance(owner, Instance)):
        owned = tensor(value.device, value.rank, owner, value.source)
        replace(frame, {value: owned})
        value = owned
    frame.heap.put(owner, field, value)


def _libraries(owner: Instance) -> tuple[str, ...]:
    return owner.of.code.libraries if isinstance(owner.of, ClassValue) else ()


def named(frame: Frame, file: FileCode, name: str) -> Value:
    """Return what the dotted name of an annotation of a file stands for."""
    first, *rest = name.split(".")
    is_here = frame.body.file is file and frame.body.function is None
    found = frame.state.names.get(first) if is_here else None
    if found is None:
        found = frame.engine.global_of(frame, file, first)
    for each in rest:
        found = read(frame, found, each, frame.span)
    return found
