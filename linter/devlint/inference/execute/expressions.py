"""Instructions that compute a value."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.attributes import MOVES, read
from devlint.inference.calls.evaluation import augmented, combined
from devlint.inference.calls.items import may_be_tensor, require_index, subscript
from devlint.inference.calls.target import receiver_of, stays
from devlint.inference.calls.types import has_device
from devlint.inference.execute.names import load
from devlint.inference.libraries.signatures import apply as apply_signature
from devlint.inference.requirements.discards import discard
from devlint.inference.requirements.machines import need_attribute
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.containers import append, content, elements, fill, has, is_list, one_element
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.stubs import TENSOR_CLASS
from devlint.inference.values.data import ANYWHERE, HOST, ON_CPU, ON_HOST, Participant
from devlint.inference.values.devices import possible
from devlint.inference.values.folding import COMPARISONS, fold, is_text
from devlint.inference.values.joins import join, join_all
from devlint.inference.values.objects import DICT, LIST, MODULE, SET, Instance
from devlint.inference.values.ranks import highest
from devlint.inference.values.tensors import (
    CPU,
    Alternatives,
    Array,
    Row,
    Tensor,
    Tuple,
    array,
    pack,
    piece,
    row,
    tensor,
)
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    COMPUTED,
    FALSE,
    ITEMS,
    MAPPING,
    NONE,
    NUMBER,
    OTHER_KEYS,
    TRUE,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Value,
    constant,
    is_symbolic,
    root_of,
    term,
)

OPERATORS: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
}
REFLECTED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def const(frame: Frame, instruction: ir.Const) -> None:
    """Execute `Const`."""
    frame.registers[instruction.target] = constant(instruction.value)


def load_name(frame: Frame, instruction: ir.Load) -> None:
    """Execute `Load`."""
    frame.registers[instruction.target] = load(frame, instruction.name)


def attribute(frame: Frame, instruction: ir.Attribute) -> None:
    """Execute `Attribute`."""
    owner = frame.registers[instruction.base]
    if instruction.name == "device":
        need_attribute(frame, has_device(frame, owner), instruction.span)
    elif instruction.name == "__dict__" and isinstance(owner, (Root, Symbol, Instance)):
        frame.heap.put(owner, COMPUTED, UNKNOWN)  # a program may store an attribute of any name there
    frame.registers[instruction.target] = read(frame, owner, instruction.name, instruction.span)


def subscripted(frame: Frame, instruction: ir.Subscript) -> None:
    """Execute `Subscript`."""
    owner, index = frame.registers[instruction.base], frame.registers[instruction.index]
    frame.span = instruction.span
    require_index(frame, owner, index, instruction.span)
    frame.registers[instruction.target] = subscript(frame, owner, index, instruction.span)


def slice_(frame: Frame, instruction: ir.Slice) -> None:
    """Execute `Slice`."""
    given = [None if part is None else frame.registers[part] for part in (instruction.lower, instruction.upper)]
    given.append(None if instruction.step is None else frame.registers[instruction.step])
    known = [each.value if isinstance(each, Constant) and type(each.value) is int else None for each in given]
    is_known = all(each in (None, NONE) or number is not None for each, number in zip(given, known, strict=True))
    frame.registers[instruction.target] = piece((known[0], known[1], known[2]) if is_known else None)


def anything(frame: Frame, instruction: ir.Anything) -> None:
    """Execute `Anything`."""
    frame.registers[instruction.target] = frame.unknown("value", instruction.span)


def awaited(frame: Frame, instruction: ir.Await) -> None:
    """Execute `Await`."""
    frame.registers[instruction.target] = frame.registers[instruction.source]


def yielded(frame: Frame, instruction: ir.Yield) -> None:
    """Execute `Yield`."""
    value = NONE if instruction.source is None else frame.registers[instruction.source]
    frame.yielded = join(frame.yielded, one_element(frame, value) if instruction.delegate else value)
    frame.registers[instruction.target] = frame.unknown("sent", instruction.span)


# --- calls ----------------------------------------------------------------------------------------------------


def call(frame: Frame, instruction: ir.Call) -> None:
    """Execute `Call`."""
    callee = frame.registers[instruction.function]
    arguments = _arguments(frame, instruction)
    frame.span = instruction.span
    if instruction.discarded or instruction.span in frame.body.unread:
        _discard(frame, callee, arguments, instruction.span)
    frame.registers[instruction.target] = frame.engine.call(frame, callee, arguments, instruction.span)


def _discard(frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> None:
    """Record a move whose result is discarded, of one value or of one of several."""
    found = [receiver_of(each) for each in possible(callee)]
    name = found[0][1]
    if all(each in MOVES for _, each in found) and not stays(frame, name, arguments):
        discard(frame, name, join_all([receiver for receiver, _ in found]), span)


def _arguments(frame: Frame, instruction: ir.Call) -> Arguments:
    positional: list[Value] = []
    named: dict[str, Value] = {}
    spread: Value | None = None
    whole: Value | None = None
    for each in instruction.arguments:
        value = frame.registers[each.register]
        if not each.unpack:
            if each.keyword is not None:
                named[each.keyword] = value
            elif spread is None:
                positional.append(value)
            else:
                spread = UNKNOWN
        elif each.keyword is None:
            found = elements(frame, value)
            if spread is not None:
                spread = UNKNOWN
            elif found is not None:
                positional.extend(found)
            else:
                spread = value
        else:
            whole = _merged(whole, content(frame, value))
    if isinstance(whole, Row) and whole.base is NONE and not any(key is OTHER_KEYS for key, _ in whole.entries):
        for key, value in whole.entries:
            if value is not ABSENT and isinstance(key, Constant) and isinstance(key.value, str):
                named.setdefault(key.value, value)
        whole = None
    return Arguments(positional, named, spread, whole)


def _merged(one: Value | None, two: Row) -> Value:
    if not isinstance(one, Row):
        return two
    base = two.base if one.base is NONE else one.base if two.base is NONE else UNKNOWN
    return row(base, tuple({**dict(one.entries), **dict(two.entries)}.items()))


# --- operators ------------------------------------------------------------------------------------------------


def binary(frame: Frame, instruction: ir.Binary) -> None:
    """Execute `Binary`."""
    left, right = frame.registers[instruction.left], frame.registers[instruction.right]
    frame.span = instruction.span
    frame.registers[instruction.target] = operate(
        frame, instruction.operator, left, right, instruction.span, instruction.in_place
    )


def operate(frame: Frame, sign: str, left: Value, right: Value, span: ir.Span, in_place: bool = False) -> Value:
    """Return the result of an operator, and record the requirements on its tensors."""
    name = OPERATORS.get(sign)
    if isinstance(left, Array) or isinstance(right, Array):
        return _with_array(frame, sign, left, right, span)
    if isinstance(left, Tensor) and name is not None:
        forms = frame.engine.stubs.method(TENSOR_CLASS, f"__{'i' if in_place else ''}{name}__")
        if forms:
            return apply_signature(frame, frame.engine.stubs, sign, forms, Arguments([left, right], {}), span)
    if isinstance(right, Tensor) and name is not None and _may_be_number(left):
        forms = frame.engine.stubs.method(TENSOR_CLASS, f"__{REFLECTED.get(name, 'r' + name)}__")
        if forms:
            return apply_signature(frame, frame.engine.stubs, sign, forms, Arguments([right, left], {}), span)
    if sign == "+" and is_symbolic(left) and is_list(right) and not in_place:
        added = elements(frame, right)
        return UNKNOWN if added is None else term("joined", left, pack(*added), frame.site(span))
    if isinstance(left, Instance) or isinstance(right, Instance):
        return _of_objects(frame, sign, left, right, span, in_place)
    if name is not None and may_be_tensor(left) and may_be_tensor(right):
        exemption = "" if sign == "@" else ON_CPU
        parts = [participant(frame, left, "" if in_place else exemption), participant(frame, right, exemption)]
        require(frame, sign, parts, span)
    if sign in ("in", "not in"):
        return UNKNOWN
    if in_place:
        return augmented(frame, sign, left, right)
    return combined(frame, sign, [left, right])


def _may_be_number(value: Value) -> bool:
    return value is NUMBER or value is UNKNOWN or isinstance(value, Constant)


def _with_array(frame: Frame, sign: str, left: Value, right: Value, span: ir.Span) -> Value:
    """An operator of an array: beside a tensor, it reads the memory of the tensor and makes another tensor."""
    other = right if isinstance(left, Array) else left
    rank = highest(*[each.rank for each in (left, right) if isinstance(each, (Array, Tensor))])
    if not isinstance(other, Tensor):
        return array(rank)
    require(frame, sign, [participant(frame, other, ANYWHERE), Participant(HOST, CPU)], span, ON_HOST)
    return tensor(other.device, rank, NONE, other.source)


def _of_objects(frame: Frame, sign: str, left: Value, right: Value, span: ir.Span, in_place: bool) -> Value:
    """Operators of lists, and of the project's classes."""
    if isinstance(left, Instance) and left.kind in (LIST, SET) and sign in ("+", "|"):
        if in_place:
            _extend(frame, left, right)
            return left
        made = frame.make(left.kind, span)
        one, two = elements(frame, left), elements(frame, right)
        if one is not None and two is not None:
            fill(frame, made, [*one, *two], True)
        else:
            fill(frame, made, [one_element(frame, left), one_element(frame, right)], False)
        return made
    if isinstance(left, Instance) and left.kind == LIST and sign == "*":
        made = frame.make(LIST, span)
        fill(frame, made, list(elements(frame, left) or (one_element(frame, left),)), False)
        return made
    if isinstance(left, Instance) and left.kind == MODULE and in_place:
        _extend(frame, left, right)
        return left
    if sign in ("==", "!="):
        return fold(sign, left, right)
    name = OPERATORS.get(sign)
    called = read(frame, left, f"__{name}__", span) if isinstance(left, Instance) and name is not None else UNKNOWN
    if called is UNKNOWN:
        return NUMBER if sign in COMPARISONS else UNKNOWN
    return frame.engine.call(frame, called, Arguments([right], {}), span)


def _extend(frame: Frame, left: Instance, right: Value) -> None:
    found = elements(frame, right)
    append(frame, left, (one_element(frame, right),) if found is None else found)


def unary(frame: Frame, instruction: ir.Unary) -> None:
    """Execute `Unary`."""
    value = frame.registers[instruction.operand]
    if instruction.operator == "not":
        found = fold("not", value)
    elif isinstance(value, Tensor):
        found = value if value.owner is NONE else combined(frame, "neg", [value])
    elif instruction.operator == "-":
        found = combined(frame, "neg", [value])
    else:
        found = value if is_symbolic(value) or value is NUMBER else UNKNOWN
    frame.registers[instruction.target] = found


def compare(frame: Frame, instruction: ir.Compare) -> None:
    """Execute `Compare`."""
    left, right = frame.registers[instruction.left], frame.registers[instruction.right]
    sign = instruction.operator
    frame.span = instruction.span
    if sign in ("is", "is not"):
        found = fold("is", left, right)
        found = found if sign == "is" else fold("not", found)
    elif sign in ("in", "not in"):
        found = contains(frame, left, right)
        found = found if sign == "in" else fold("not", found)
    else:
        found = operate(frame, sign, left, right, instruction.span)
    frame.registers[instruction.target] = found


def contains(frame: Frame, value: Value, owner: Value) -> Value:
    """Return `value in owner`."""
    if isinstance(owner, Instance) and owner.kind == DICT:
        return has(frame, owner, value)
    if isinstance(owner, Constant) and isinstance(value, Constant):
        are_texts = isinstance(owner.value, str) and isinstance(value.value, str)
        return constant(str(value.value) in str(owner.value)) if are_texts else NUMBER
    held = owner.items if isinstance(owner, Tuple) else None
    if held is None:
        kept = frame.heap.get(owner, ITEMS)
        held = kept.items if isinstance(kept, Tuple) else None
    if held is not None and all(isinstance(each, Constant) for each in held):
        if isinstance(value, Constant):
            return TRUE if value in held else FALSE
        if is_symbolic(value):
            return fold("or", *[fold("==", value, each) for each in held]) if held else FALSE
    if is_text(owner):
        return fold("contains", owner, value)
    top = root_of(owner)
    if top is not None and isinstance(value, Constant):
        asked = term("has", owner, value) if frame.heap.get(owner, MAPPING) is None else UNKNOWN
        return NUMBER if asked is UNKNOWN else asked
    return NUMBER


def formatted(frame: Frame, instruction: ir.Format) -> None:
    """Execute `Format`."""
    parts = [constant(each) if isinstance(each, str) else frame.registers[each] for each in instruction.parts]
    frame.registers[instruction.target] = fold("format", *parts) if parts else constant("")


# --- displays -------------------------------------------------------------------------------------------------


def build(frame: Frame, instruction: ir.Build) -> None:
    """Execute `Build`."""
    items: list[Value] = []
    is_exact = True
    for each in instruction.items:
        value = frame.registers[each.register]
        if not each.unpack:
            items.append(value)
            continue
        found = elements(frame, value)
        is_exact = is_exact and found is not None
        items.extend((one_element(frame, value),) if found is None else found)
    if instruction.kind == "tuple":
        frame.registers[instruction.target] = pack(*items) if is_exact else _list_of(frame, items, instruction.span)
        return
    made = frame.make(LIST if instruction.kind == "list" else SET, instruction.span)
    fill(frame, made, items, is_exact)
    frame.registers[instruction.target] = made


def _list_of(frame: Frame, items: list[Value], span: ir.Span, is_exact: bool = False) -> Value:
    """Return a new list; a tuple of unknown length is one too, because both answer the same questions."""
    made = frame.make(LIST, span)
    fill(frame, made, items, is_exact)
    return made


def build_mapping(frame: Frame, instruction: ir.BuildMapping) -> None:
    """Execute `BuildMapping`."""
    whole: Value = row(NONE)
    for key, register in instruction.items:
        value = frame.registers[register]
        if key is None:
            whole = _merged(whole, content(frame, value))
        else:
            name = frame.registers[key]
            assert isinstance(whole, Row)
            entries = dict(whole.entries)
            if isinstance(name, Constant):
                entries[name] = value
            else:
                entries[OTHER_KEYS] = join(entries.get(OTHER_KEYS, BOTTOM), value)
            whole = row(whole.base, tuple(entries.items()))
    made = frame.make(DICT, instruction.span)
    frame.heap.put(made, MAPPING, whole)
    frame.registers[instruction.target] = made


def appended(frame: Frame, instruction: ir.Append) -> None:
    """Execute `Append`."""
    append(frame, frame.registers[instruction.container], (frame.registers[instruction.source],))


def unpack(frame: Frame, instruction: ir.Unpack) -> None:
    """Execute `Unpack`."""
    value = frame.registers[instruction.source]
    targets, starred = instruction.targets, instruction.starred
    found = None if is_symbolic(value) and starred is None else elements(frame, value)
    if found is not None and starred is not None and len(found) >= len(targets) - 1:
        last = starred + 1 + len(found) - len(targets)
        rest = _list_of(frame, list(found[starred:last]), instruction.span, True)
        found = (*found[:starred], rest, *found[last:])
    if found is not None and len(found) == len(targets):
        for target, each in zip(targets, found, strict=True):
            frame.registers[target] = each
        return
    for position, target in enumerate(targets):
        if starred is not None and position >= starred:
            frame.registers[target] = UNKNOWN
        elif is_symbolic(value) or isinstance(value, Alternatives):
            frame.registers[target] = subscript(frame, value, constant(position), instruction.span)
        else:
            one = frame.engine.iterated(frame, value, instruction.span)
            frame.registers[target] = UNKNOWN if one is BOTTOM else one
