"""Why a participant stayed behind: a module keeps it in an attribute, but has not registered it.

The source of a participant's device is the symbol of an attribute, such as `self.offset`. A call puts in the module.
Then the heap tells whether the module has registered the value of this attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from devlint.frontend import ir
from devlint.inference.state.containers import any_value, elements, one_element
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.where import is_module, parts_of, registered
from devlint.inference.text.captured import instructions
from devlint.inference.text.unread import is_unread
from devlint.inference.values.code import Body, ClassCode
from devlint.inference.values.data import Place
from devlint.inference.values.devices import denoted, parse
from devlint.inference.values.objects import DICT, LIST, ClassValue, Instance, Library, Wrapped
from devlint.inference.values.tensors import CPU, Alternatives, Device, Source, Tensor, Tuple, pack, source, tensor
from devlint.inference.values.terms import (
    BY_DEFAULT,
    DEVICE,
    NONE,
    SOURCE,
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
)

TENSOR: Final = constant("tensor")
"""How a module keeps something: as a plain tensor, which does not move."""
PART: Final = constant("part")
"""As a module or parameter in a plain container, which does not move."""
STATE: Final = constant("state")
"""As a buffer of a loss or metric: a module without parameters, which nobody moved."""
NOT_PASSED: Final = constant("not passed")
"""Not at all: the module is on the CPU by default, because its creator did not pass on another device."""


def attributes_of(source: Value) -> Iterator[Symbol]:
    """Yield the attributes through which the source of a device comes, the innermost first."""
    if isinstance(source, Term):
        for each in source.arguments:
            yield from attributes_of(each)
    while isinstance(source, Symbol):
        if source.field.kind == "." and isinstance(source.parent, (Root, Symbol)):
            yield source
        source = source.parent


def how_kept(frame: Frame, owner: Value, name: str, decided: Value) -> Value:
    """Return the class of a module, an attribute and how the module keeps a value there; NONE if it moves with it.

    Args:
        frame: has the module.
        owner: perhaps the module.
        name: of the attribute, or of a property that returns another one.
        decided: the source of the device of the value.
    """
    if not is_module(owner) or not isinstance(owner, Instance) or not isinstance(owner.of, ClassValue):
        return NONE
    fields = frame.heap.fields(owner)
    is_moved = SOURCE in fields
    held, by_default = fields.get(attribute(name)), fields.get(BY_DEFAULT)
    if isinstance(by_default, Tuple) and held in (by_default.items[0], CPU):
        return pack(*by_default.items[1:], NOT_PASSED)
    if isinstance(owner.of.code.lookup(name), Wrapped):
        behind = [
            each for each, value in fields.items() if each.kind == "." and _is_plain(fields, each, value, decided)
        ]
        name, held = (behind[0].name, fields[behind[0]]) if behind else (name, None)
    if isinstance(held, Tensor):
        if registered(name) in fields:
            is_state = not is_moved and not _has_parameters(frame, owner)
            return pack(owner.of, constant(name), STATE) if is_state else NONE
        return pack(owner.of, constant(name), TENSOR) if is_moved and held.owner is NONE else NONE
    if not is_moved or not (isinstance(held, Tuple) or (isinstance(held, Instance) and held.kind in (LIST, DICT))):
        return NONE
    is_mapping = isinstance(held, Instance) and held.kind == DICT
    found = (any_value(frame, held),) if is_mapping else elements(frame, held) or (one_element(frame, held),)
    parts = [each for one in found for each in (one.options if isinstance(one, Alternatives) else (one,))]
    moves = _moving(frame, owner)
    is_left = any(each not in moves and (is_module(each) or _is_parameter(each)) for each in parts)
    return pack(owner.of, constant(name), PART) if is_left else NONE


def _is_plain(fields: Mapping[Field, Value], field: Field, value: Value, decided: Value) -> bool:
    is_buffer = registered(field.name) in fields
    return isinstance(value, Tensor) and value.source is decided and value.owner is NONE and not is_buffer


def _is_parameter(value: Value) -> bool:
    return isinstance(value, Tensor) and value.owner is not NONE


def _moving(frame: Frame, owner: Instance) -> list[Value]:
    """Return the registered parts of a module, and of its parts."""
    found: list[Value] = [owner]
    for each in found:
        if isinstance(each, Instance):
            found.extend([part for part in parts_of(frame, each) if part not in found])
    return found


def _has_parameters(frame: Frame, owner: Instance) -> bool:
    return any(_is_parameter(each) or frame.heap.get(each, DEVICE) is not None for each in _moving(frame, owner))


def at_hand(frame: Frame) -> list[Value]:
    """Return what names and the attributes of objects hold and may name a device: texts, devices and symbols."""
    held = [*frame.state.names.values()]
    for owner in frame.heap.objects():
        held += [value for field, value in frame.heap.fields(owner).items() if field.kind == "."]
    texts = [each for each in held if isinstance(each, Constant) and isinstance(each.value, str)]
    return [*texts, *[each for each in held if isinstance(each, (Device, Alternatives)) or is_symbolic(each)]]


def note_default(frame: Frame, made: Instance, init: Body, arguments: Arguments, span: ir.Span) -> None:
    """Note of a new module that a parameter of its constructor, which the call leaves out, is the CPU by default."""
    is_open = arguments.spread is not None or arguments.row is not None
    parameters = () if init.function is None or is_open else init.function.parameters[1:]
    for position, each in enumerate(parameters):
        default = frame.engine.default(init, each.name) if each.has_default else UNKNOWN
        if denoted(default, UNKNOWN) is CPU and arguments.at(position, each.name) is None:
            known = pack(*dict.fromkeys([denoted(one, UNKNOWN) for one in at_hand(frame)]))
            where = source(frame.place(span))
            frame.heap.put(made, BY_DEFAULT, pack(default, where, known))


def with_unread(called: Body, arguments: Arguments, result: Tensor) -> Tensor:
    """Return the result of a call; its source tells which devices the function is given and never reads."""
    parameters = () if called.function is None else called.function.parameters
    given = [(each.name, arguments.at(place, each.name)) for place, each in enumerate(parameters)]
    texts = [
        (name, parse(one.value)) for name, one in given if isinstance(one, Constant) and isinstance(one.value, str)
    ]
    known = [where for name, where in (*given, *texts) if isinstance(where, Device) and is_unread(called.scope, name)]
    if not known or not isinstance(result.source, Source):
        return result
    return tensor(result.device, result.rank, result.owner, pack(result.source, pack(*known), NOT_PASSED))


def state_of(frame: Frame, value: Value) -> Value:
    """Return the class of a loss or metric of a library, and STATE, if it has weights or a state; else NONE."""
    of = value.of if isinstance(value, Instance) else NONE
    if not isinstance(of, Library) or frame.heap.get(value, DEVICE) is None:
        return NONE
    return pack(of, NONE, STATE) if frame.engine.stubs.is_stateless(of.name) else NONE


def stored_at(code: ClassCode, name: str) -> Place | None:
    """Return where a class stores an attribute, by the text: in its constructor, or where it does so first."""
    places = [place for each in code.order for place in _stores(each, name)]
    return min(places)[1] if places else None


def _stores(code: ClassCode, name: str) -> Iterator[tuple[bool, Place]]:
    methods = [each.function for each in code.scope.body if isinstance(each, ir.MakeFunction)]
    for method in methods:
        short = method.name.rpartition(".")[2]
        if name not in code.scope.self_stores.get(short, frozenset()):
            continue
        nothing: set[int] = set()
        for each in instructions(method.body):
            if isinstance(each, ir.Const) and each.value is None:
                nothing.add(each.target)
            elif isinstance(each, ir.StoreAttribute) and each.name == name and each.source not in nothing:
                yield short != "__init__", Place(code.file.path, *each.span)
