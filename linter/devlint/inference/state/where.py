"""Where values are: the device, the rank and the source of a value in the state of a frame."""

from __future__ import annotations

from devlint.inference.state.frame import Frame
from devlint.inference.values import devices, ranks
from devlint.inference.values.folding import ARITHMETIC, COMPARISONS, is_text
from devlint.inference.values.joins import earlier, either, join_all
from devlint.inference.values.objects import (
    LIBRARY,
    LIST,
    MODULE,
    OBJECT,
    SET,
    Bound,
    ClassValue,
    FileValue,
    Function,
    Instance,
    Library,
    Method,
)
from devlint.inference.values.tensors import ACCELERATOR, Alternatives, Array, Device, Row, Tensor, Tuple, device
from devlint.inference.values.terms import (
    ABSENT,
    CURRENT,
    DEVICE,
    ELEMENT,
    INPUT,
    ITEMS,
    MACHINE,
    MAPPING,
    MOVED,
    NO_DEVICE,
    NONE,
    NUMBER,
    OPTION,
    POSITIVE,
    PROCESS,
    RANK,
    REPLACED,
    SOURCE,
    TRAINED,
    UNKNOWN,
    Constant,
    Field,
    Root,
    Symbol,
    Term,
    Value,
    attribute,
    constant,
    is_symbolic,
    kept,
    root,
    symbol,
    term,
)

FIRST_DEVICE = device("cuda:0")
PROCESS_STATE = root(PROCESS, "state")
"""Its DEVICE is the default device."""

OF_TENSORS = frozenset({"shape", "ndim", "dtype", "requires_grad", "layout", "is_leaf"})
"""Attributes of tensors that are on no device."""

SAME_TENSOR = frozenset({"data", "T", "mT", "H", "real", "imag", "grad"})
"""Attributes of tensors that are on the device of the tensor."""

RESULT = attribute("()")
"""The result of a call of an option, which is no part of the option."""

PLAIN = (Constant, Tuple, Device, Library, Function, ClassValue, Bound, Array, Method, FileValue)


def current_device(frame: Frame) -> Value:
    """Return the current CUDA device, which is the first one unless this body has changed it."""
    return frame.heap.get(PROCESS_STATE, CURRENT) or FIRST_DEVICE


def default_device(frame: Frame) -> Value:
    """Return the default device: the device of a new tensor without a `device` argument."""
    return stored(frame, PROCESS_STATE, DEVICE)


def stored(frame: Frame, owner: Value, field: Field) -> Value:
    """Return a property that an object keeps, such as the device of an optimizer's state; of a symbol it is a symbol.

    What unknown code may have changed is unknown. TRAINED gives the device of the module that is kept; of a symbol it
    is unknown if the body has moved another symbol, which may be this module.
    """
    held = frame.heap.get(owner, field)
    if held is not None:
        return device_of_module(frame, held) if field is TRAINED else held
    if isinstance(owner, Alternatives):
        return join_all([stored(frame, each, field) for each in owner.options])
    above: Value = owner
    while isinstance(above, Symbol) and frame.heap.get(above, MOVED) is not UNKNOWN:
        above = above.parent
    is_callers = isinstance(above, Root) and (above.kind in REPLACED or above.kind == PROCESS)
    if not is_callers or frame.heap.get(above, MOVED) is UNKNOWN or not isinstance(owner, (Root, Symbol)):
        return UNKNOWN
    if field is TRAINED and any(MOVED in frame.heap.fields(each) for each in frame.heap.objects() if is_symbolic(each)):
        return UNKNOWN
    return symbol(owner, field)


def is_module(value: Value) -> bool:
    """Whether a value is known to be a module."""
    if not isinstance(value, Instance):
        return False
    return value.kind == MODULE or (isinstance(value.of, ClassValue) and value.of.code.is_module)


def device_of(frame: Frame, value: Value) -> Value:
    """Return the device of a tensor, or of the parameters of a module."""
    if isinstance(value, Tensor):
        return value.device
    if isinstance(value, (Root, Symbol)):
        return _of_symbol(frame, value)
    if isinstance(value, Term):
        return _of_term(frame, value)
    if isinstance(value, Alternatives):
        return join_all([device_of(frame, each) for each in value.options if each not in (NONE, ABSENT)])
    if isinstance(value, Instance):
        return device_of_module(frame, value) if value.kind in (MODULE, OBJECT, LIBRARY) else UNKNOWN
    return NO_DEVICE if isinstance(value, PLAIN) or value is NUMBER else UNKNOWN


def _of_symbol(frame: Frame, value: Root | Symbol) -> Value:
    """Return the device of a symbol, if it is a tensor.

    A parameter or buffer moves with the object that holds it as an attribute; an element of a list does not.
    """
    data = frame.heap.get(value, attribute("data"))
    if data is not None and not _has(data, value):
        return device_of(frame, data)
    below: Value = value
    while isinstance(below, Symbol) and below.field.kind == ".":
        if below.field.name in OF_TENSORS:
            return NO_DEVICE
        if below.field is RESULT:
            break
        moved = frame.heap.get(below.parent, MOVED)
        if moved is not None and below.field.name not in SAME_TENSOR:
            return moved
        below = below.parent
    top = value if isinstance(value, Root) else value.root
    if top.kind in (OPTION, MACHINE):
        return NO_DEVICE
    if top.kind == INPUT:
        return ACCELERATOR
    return symbol(value, DEVICE)


def _has(whole: Value, part: Value) -> bool:
    """Whether a value is a part of a term: `x.data = x` leaves `x` where it is."""
    if isinstance(whole, (Term, Alternatives)):
        return any(_has(each, part) for each in (whole.arguments if isinstance(whole, Term) else whole.options))
    return whole is part


def _of_term(frame: Frame, value: Term) -> Value:
    name, parts = value.operator, value.arguments
    if name == "to":
        return parts[1]
    if name == "ite":
        return either(parts[0], device_of(frame, parts[1]), device_of(frame, parts[2]))
    if name in ARITHMETIC or name in COMPARISONS or name == "neg":
        return devices.meet([device_of(frame, each) for each in parts], [rank_of(frame, each) for each in parts])
    if is_text(value) or name in ("len", "not", "is", "asked", "isinstance", "has", "contains"):
        return NO_DEVICE
    return term("device_of", value)


def device_of_module(frame: Frame, value: Value, depth: int = 0) -> Value:
    """Return the device of the parameters of a module; NO_DEVICE if it has no parameters."""
    if isinstance(value, (Root, Symbol)):
        return _moved_with(frame, value)
    if isinstance(value, Term):
        if value.operator == "to":
            return value.arguments[1]
        if value.operator == "ite":
            test, then, orelse = value.arguments
            return either(test, device_of_module(frame, then), device_of_module(frame, orelse))
        return term("device_of", value)
    if isinstance(value, Alternatives):
        known = [device_of_module(frame, each) for each in value.options if each is not NONE]
        placed = [each for each in known if each is not NO_DEVICE]
        return join_all(placed) if placed or not known else NO_DEVICE
    if not isinstance(value, Instance):
        return NO_DEVICE if isinstance(value, PLAIN) else UNKNOWN
    fields = frame.heap.fields(value)
    own = fields.get(DEVICE)
    if own is not None or depth > 8:
        return UNKNOWN if own is None else own
    parts = parts_of(frame, value)  # PyTorch lists the tensors of a module before those of its parts
    for part in sorted(parts, key=_is_no_tensor):
        found = part.device if isinstance(part, Tensor) else device_of_module(frame, part, depth + 1)
        if found is not NO_DEVICE:
            return found
    return NO_DEVICE


def _is_no_tensor(value: Value) -> bool:
    return not isinstance(value, Tensor)


def _moved_with(frame: Frame, value: Root | Symbol) -> Value:
    """Return the device of a module of the caller."""
    above: Value = value
    while True:
        moved = frame.heap.get(above, MOVED)
        if moved is not None:
            return moved
        if not isinstance(above, Symbol):
            break
        above = above.parent
    return symbol(value, DEVICE)


def registered(name: str) -> Field:
    """Return the field that marks a registered buffer of a module."""
    return kept(f"buffer {name}")


def parts_of(frame: Frame, value: Value) -> list[Value]:
    """Return the registered parameters, buffers and modules of a module that the heap has."""
    found: list[Value] = []
    fields = frame.heap.fields(value)
    for field, held in fields.items():
        if field.kind == "." and not isinstance(held, Tuple):
            found += [each for each in _each(held) if _is_registered(fields, field, each)]
        elif field in (ITEMS, ELEMENT, MAPPING) and is_module(value):
            found += [each for each in _each(held) if not isinstance(each, Constant)]
    return found


def _is_registered(fields: object, field: Field, value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.owner is not NONE or (isinstance(fields, dict) and registered(field.name) in fields)
    return is_module(value)


def _each(value: Value) -> list[Value]:
    if isinstance(value, Tuple):
        return list(value.items)
    if isinstance(value, Alternatives):
        return list(value.options)
    if isinstance(value, Row):
        return [each for _, each in value.entries if each is not ABSENT]
    if isinstance(value, Term) and value.operator == "ite":
        return [*_each(value.arguments[1]), *_each(value.arguments[2])]
    return [value]


def rank_of(frame: Frame, value: Value) -> Value:
    """Return the rank of a value that is a tensor or is made one."""
    if isinstance(value, (Tensor, Array)):
        return value.rank
    if isinstance(value, Root) and value.kind == INPUT:
        return POSITIVE
    if isinstance(value, (Root, Symbol)):
        return symbol(value, RANK)
    if isinstance(value, Tuple) or (isinstance(value, Instance) and value.kind in (LIST, SET)):
        return POSITIVE
    if (isinstance(value, Constant) and isinstance(value.value, (bool, int, float, complex))) or value is NUMBER:
        return constant(0)
    if isinstance(value, Alternatives):
        return join_all([rank_of(frame, each) for each in value.options])
    if isinstance(value, Term):
        if value.rank is None:
            value.rank = _rank_of_term(frame, value)
        return value.rank
    return UNKNOWN


def _rank_of_term(frame: Frame, value: Term) -> Value:
    if value.operator == "to":
        return rank_of(frame, value.arguments[0])
    if value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, rank_of(frame, then), rank_of(frame, orelse))
    if value.operator == "asked":
        return constant(0)
    if value.operator in ARITHMETIC or value.operator in COMPARISONS or value.operator == "neg":
        return ranks.highest(*[rank_of(frame, each) for each in value.arguments])
    return term("rank_of", value)


def source_of(frame: Frame, value: Value) -> Value:
    """Return the source of the device of a value: a place, or a symbol."""
    if isinstance(value, Tensor):
        return value.source
    if isinstance(value, (Root, Symbol)):
        return symbol(value, SOURCE)
    if isinstance(value, Instance):
        own = frame.heap.get(value, SOURCE)
        if own is not None:
            return own
        for part in parts_of(frame, value):
            found = source_of(frame, part) if part is not value else NONE
            if found is not NONE:
                return found
        return NONE
    whole: Value = NONE
    if isinstance(value, Alternatives):
        for each in value.options:
            whole = earlier(whole, source_of(frame, each))
    elif isinstance(value, Term):
        for each in value.arguments:
            if not isinstance(each, (Constant, Device)):
                whole = earlier(whole, source_of(frame, each))
    return whole
