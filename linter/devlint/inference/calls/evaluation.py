"""Operations of terms on the values of a frame: some read the heap, `fold` computes all others."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.calls.attributes import read
from devlint.inference.calls.items import iterated, subscript
from devlint.inference.calls.knowledge import truth_of
from devlint.inference.calls.types import has_attribute, has_device, is_instance, type_value
from devlint.inference.libraries.loading import collated
from devlint.inference.libraries.tensors import device_of_data
from devlint.inference.state.containers import elements, fill, get, has, is_list, length_of, one_element
from devlint.inference.state.frame import Frame
from devlint.inference.state.moves import scattered
from devlint.inference.state.where import device_of, rank_of, source_of
from devlint.inference.values.devices import meet, possible
from devlint.inference.values.folding import ARITHMETIC, AUGMENTED, COMPARISONS, fold, is_several, is_text
from devlint.inference.values.joins import either, join_all, under
from devlint.inference.values.objects import LIST, Instance, Site, instance
from devlint.inference.values.ranks import highest, product
from devlint.inference.values.tensors import Alternatives, Array, Tensor, array, options, tensor
from devlint.inference.values.terms import (
    NONE,
    NUMBER,
    POSITIVE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
    is_symbolic,
    term,
)


def evaluate(frame: Frame, name: str, arguments: tuple[Value, ...], span: ir.Span) -> Value:
    """Return the result of the operation of a term, or a term that stands for it."""
    first = arguments[0]
    if name == "ite":
        known = truth_of(frame, first)
        if known is not None:
            return arguments[1] if known else arguments[2]
        return either(first, arguments[1], arguments[2])
    if name == "not":
        known = truth_of(frame, first)
        return fold("not", first) if known is None else constant(not known)
    if name == "get":
        return get(frame, first, arguments[1], arguments[2])
    if name == "has":
        if isinstance(first, Constant) or is_text(first):
            return fold("contains", first, arguments[1])
        return has(frame, first, arguments[1])
    if name == "item":
        return subscript(frame, first, arguments[1], span)
    if name == "looped":
        return looped(first)
    if name == "element":
        return iterated(frame, first, span)
    if name == "collated":
        return collated(frame, first, span)
    if name == "attribute":
        attribute_name = arguments[1]
        return read(frame, first, str(attribute_name.value), span) if isinstance(attribute_name, Constant) else UNKNOWN
    if name == "scattered":
        return scattered(frame, first, arguments[1])
    if name == "to":
        return relocated(frame, first, arguments[1], arguments[2])
    if name == "device_of":
        return device_of(frame, first)
    if name == "device_of_data":
        return device_of_data(frame, first)
    if name == "rank_of":
        return rank_of(frame, first)
    if name == "len":
        return length(frame, first)
    if name == "isinstance":
        return is_instance(frame, first, arguments[1])
    if name == "hasattr":
        return has_attribute(frame, first, arguments[1])
    if name == "has_device":
        return has_device(frame, first)
    if name == "type":
        return type_value(frame, first)
    if name == "joined":
        return joined(frame, first, arguments[1], arguments[2])
    if name in ARITHMETIC or name in COMPARISONS or name in ("neg", "@"):
        if isinstance(first, Instance) or isinstance(arguments[-1], Instance):
            return frame.engine.operate(frame, name, first, arguments[-1], span)
        return combined(frame, name, list(arguments))
    if name in AUGMENTED:
        return first if is_changed_in_place(first) else augmented(frame, AUGMENTED[name], first, arguments[1])
    return fold(name, *arguments)


def is_changed_in_place(value: Value) -> bool:
    """Whether `value += other` changes the object, and does not make another one."""
    return isinstance(value, (Tensor, Array, Instance))


def joined(frame: Frame, one: Value, two: Value, where: Value) -> Value:
    """Return `one + two` for a list with the elements `two`, and the site of the new list."""
    if is_symbolic(one) or not isinstance(where, Site):
        return term("joined", one, two, where)
    if not is_list(one):
        return UNKNOWN
    made = instance(where, LIST)
    frame.heap.forget(made)
    first, second = elements(frame, one), elements(frame, two)
    items = [one_element(frame, one), one_element(frame, two)] if first is None or second is None else [*first, *second]
    fill(frame, made, items, first is not None and second is not None)
    return made


def looped(value: Value) -> Value:
    """Return what a name holds after turns of a loop that each add to a value: a tensor or another object stays."""
    if isinstance(value, Alternatives):
        return join_all([looped(each) for each in value.options])
    if is_symbolic(value):
        return term("looped", value)
    is_number = value is NUMBER or (isinstance(value, Constant) and value is not NONE)
    return value if is_changed_in_place(value) else NUMBER if is_number else UNKNOWN


def augmented(frame: Frame, name: str, value: Value, other: Value) -> Value:
    """Return `value += other` of a value that is no object: if it is symbolic, a caller knows whether it is one."""
    if isinstance(value, Alternatives) and any(map(is_symbolic, value.options)):
        return join_all([augmented(frame, name, each, other) for each in value.options])
    made = term(f"{name}=", value, other) if is_symbolic(value) else UNKNOWN
    return combined(frame, name, [value, other]) if made is UNKNOWN else made


def combined(frame: Frame, name: str, operands: list[Value]) -> Value:
    """Return the result of an operator on values that may be tensors."""
    several = [each for each in operands if is_several(each)]
    test = several[0].arguments[0] if several and isinstance(several[0], Term) else NONE
    if test is not NONE and all(isinstance(each, Term) and each.arguments[0] is test for each in several):
        then, orelse = (combined(frame, name, [under(test, each, branch) for each in operands]) for branch in (1, 2))
        return either(test, then, orelse)
    if len(several) == 1:
        held = options(several[0])
        return join_all(
            [combined(frame, name, [part if each in several else each for each in operands]) for part in held]
        )
    ranks = [rank_of(frame, each) for each in operands]
    if any(isinstance(part, Tensor) for each in operands for part in possible(each)):
        rank = product(ranks[0], ranks[1]) if name == "@" else highest(*ranks)
        where = meet([device_of(frame, each) for each in operands], [POSITIVE] * 2 if name == "@" else ranks)
        sources = [source_of(frame, each) for each in operands]
        return tensor(where, rank, NONE, next((each for each in sources if each is not NONE), NONE))
    if any(isinstance(each, Array) for each in operands):
        return array(highest(*ranks))
    return fold(name, *operands)


def relocated(frame: Frame, value: Value, where: Value, decided: Value) -> Value:
    """Return the result of a term `value.to(where)`; a summary has the move of a module as an effect of its own."""
    if isinstance(value, Tensor):
        return value if value.device is where else tensor(where, value.rank, NONE, decided)
    if isinstance(value, Term) and value.operator == "to":
        return term("to", value.arguments[0], where, decided)
    if isinstance(value, Term) and value.operator != "ite":
        return tensor(where, rank_of(frame, value), NONE, decided)
    return term("to", value, where, decided) if isinstance(value, (Root, Symbol, Term)) else value


def length(frame: Frame, value: Value) -> Value:
    """Return `len(value)`."""
    found = length_of(frame, value)
    if found is not None:
        return constant(found)
    if isinstance(value, Constant) and isinstance(value.value, (str, bytes)):
        return constant(len(value.value))
    made = term("len", value) if is_symbolic(value) and not frame.heap.fields(value) else UNKNOWN
    return NUMBER if made is UNKNOWN else made
