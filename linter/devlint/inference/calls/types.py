"""`isinstance`, `type` and `hasattr` on values."""

from __future__ import annotations

from typing import Final

from devlint.inference.state.containers import may_be_absent
from devlint.inference.state.frame import Frame
from devlint.inference.state.where import is_module
from devlint.inference.stubs import MODULE_CLASS, TENSOR_CLASS
from devlint.inference.values.joins import either, join_all
from devlint.inference.values.objects import (
    DICT,
    LIST,
    SET,
    ClassValue,
    Instance,
    Library,
    library,
)
from devlint.inference.values.tensors import Alternatives, Array, Device, Tensor, Tuple
from devlint.inference.values.terms import (
    COMPUTED,
    FALSE,
    NONE,
    NUMBER,
    TRUE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    attribute,
    constant,
    is_symbolic,
    term,
)

PARAMETER_CLASS: Final = "torch.nn.Parameter"
PYTHON_TYPES: Final[dict[str, type]] = {
    "int": int, "float": float, "str": str, "bool": bool, "bytes": bytes, "complex": complex, "object": object,
}  # fmt: skip
SEQUENCES: Final = frozenset("Sequence Iterable Collection Sized Reversible".split())
MAPPINGS: Final = frozenset("Mapping MutableMapping Iterable Collection Sized".split())


def is_instance(frame: Frame, value: Value, of: Value) -> Value:
    """Return `isinstance(value, of)`."""
    classes = of.items if isinstance(of, Tuple) else (of,)
    if isinstance(value, Alternatives):
        return join_all([is_instance(frame, each, of) for each in value.options])
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, is_instance(frame, then, of), is_instance(frame, orelse, of))
    if not all(isinstance(each, (Library, ClassValue)) for each in classes):
        return NUMBER
    if is_symbolic(value):
        made = term("isinstance", value, of)
        return NUMBER if made is UNKNOWN else made
    found = [_is_one(frame, value, each) for each in classes]
    if True in found:
        return TRUE
    return NUMBER if None in found else FALSE


def _is_one(frame: Frame, value: Value, of: Value) -> bool | None:
    """Return whether a value is of a class; None if that is unknown."""
    if value is UNKNOWN:
        return None
    if isinstance(of, ClassValue):
        return isinstance(value, Instance) and isinstance(value.of, ClassValue) and of.code in value.of.code.order
    assert isinstance(of, Library)
    last = of.name.rpartition(".")[2]
    if isinstance(value, Tensor):
        if of.name in (PARAMETER_CLASS, "torch.nn.Buffer"):
            return value.owner is not NONE
        return of.name in (TENSOR_CLASS, "object")
    if isinstance(value, Constant):
        found = PYTHON_TYPES.get(of.name)
        return found is not None and isinstance(value.value, found)
    if value is NUMBER:
        return False if of.name in (TENSOR_CLASS, "list", "dict", "set", "numpy.ndarray") else None
    if isinstance(value, Tuple):
        return of.name == "tuple" or last in SEQUENCES
    if isinstance(value, Array):
        return of.name == "numpy.ndarray"
    if isinstance(value, Device):
        return of.name == "torch.device"
    if isinstance(value, Instance):
        return _is_of_library(frame, value, of.name, last)
    return None


def _is_of_library(frame: Frame, value: Instance, name: str, last: str) -> bool | None:
    if value.kind in (LIST, SET):
        return name == value.kind or last in SEQUENCES
    if value.kind == DICT:
        return name in ("dict", "collections.OrderedDict") or last in MAPPINGS
    bases = value.of.code.libraries if isinstance(value.of, ClassValue) else ()
    names = [value.of.name] if isinstance(value.of, Library) else list(bases)
    if any(name in frame.engine.stubs.lineage(each) for each in names):
        return True
    return None if isinstance(value.of, ClassValue) and value.of.code.is_open else False


def type_value(frame: Frame, value: Value) -> Value:
    """Return `type(value)`."""
    if isinstance(value, Alternatives):
        return join_all([type_value(frame, each) for each in value.options])
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, type_value(frame, then), type_value(frame, orelse))
    if isinstance(value, Tensor):
        return library(TENSOR_CLASS if value.owner is NONE else PARAMETER_CLASS)
    if isinstance(value, Instance):
        return value.of if value.of is not NONE else library(value.kind)
    if isinstance(value, Constant) and value is not NONE:
        return library(type(value.value).__name__)
    if isinstance(value, Tuple):
        return library("tuple")
    return term("type", value) if is_symbolic(value) else UNKNOWN


def has_attribute(frame: Frame, value: Value, name: Value) -> Value:
    """Return `hasattr(value, name)`."""
    if not isinstance(name, Constant) or not isinstance(name.value, str):
        return NUMBER
    if isinstance(value, Tensor):
        is_known = name.value in ("device", "shape", "data", "grad") or frame.engine.stubs.method(
            TENSOR_CLASS, name.value
        )
        return constant(bool(is_known))
    held = frame.heap.get(value, attribute(name.value))
    if held is not None and not may_be_absent(held):
        return TRUE
    if isinstance(value, Instance) and isinstance(value.of, ClassValue):
        if value.of.code.lookup(name.value) is not None:
            return TRUE
        is_closed = not value.of.code.is_open and not value.of.code.libraries
        return FALSE if is_closed and held is None else NUMBER
    if is_symbolic(value) and held is None:
        made = term("hasattr", value, name)
        return NUMBER if made is UNKNOWN else made
    return NUMBER


def has_device(frame: Frame, value: Value) -> Value:
    """Return whether a value has an attribute `device`; FALSE is certain, all else is not.

    Modules of PyTorch have none. A module of the project has one if its class or any code stores it.
    """
    fields = frame.heap.fields(value)
    if value in frame.kinds or attribute("device") in fields or COMPUTED in fields:
        return UNKNOWN
    if isinstance(value, (Root, Symbol)):
        return term("has_device", value)
    if not isinstance(value, Instance) or not is_module(value):
        return UNKNOWN
    if isinstance(value.of, ClassValue):
        code = value.of.code
        is_own = code.is_open or any(map(code.lookup, ("device", "__getattr__", "__getattribute__")))
        return UNKNOWN if is_own or not all(map(_is_of_torch, code.libraries)) else FALSE
    is_of_torch = isinstance(value.of, Library) and value.of.name != MODULE_CLASS and _is_of_torch(value.of.name)
    return FALSE if is_of_torch else UNKNOWN


def _is_of_torch(name: str) -> bool:
    return name.startswith("torch.nn.")
