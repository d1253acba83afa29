"""Why a participant stayed behind: a module keeps it in an attribute, but has not registered it.

The source of a participant's device is the symbol of an attribute, such as `self.offset`. A call puts in the module.
Then the heap tells whether the module has registered the value of this attribute.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.frontend import ir
from devlint.inference.state.containers import any_value, elements, one_element
from devlint.inference.state.frame import Frame
from devlint.inference.state.where import is_module, registered
from devlint.inference.text.captured import instructions
from devlint.inference.values.code import ClassCode
from devlint.inference.values.data import Place
from devlint.inference.values.objects import DICT, LIST, ClassValue, Instance
from devlint.inference.values.tensors import Alternatives, Tensor, Tuple, pack
from devlint.inference.values.terms import ELEMENT, NONE, SOURCE, Root, Symbol, Value, attribute, constant


def attribute_of(source: Value) -> Symbol | None:
    """Return the attribute with which the source of a device comes: of an element, that of its container."""
    if not isinstance(source, Symbol) or source.field is not SOURCE:
        return None
    inner = source.parent
    while isinstance(inner, Symbol) and (inner.field.key is not None or inner.field is ELEMENT):
        inner = inner.parent
    is_attribute = isinstance(inner, Symbol) and inner.field.kind == "."
    return inner if is_attribute and isinstance(inner, Symbol) and isinstance(inner.parent, (Root, Symbol)) else None


def unregistered(frame: Frame, owner: Value, name: str) -> Value:
    """Return the class of a module and the attribute, if the module keeps something there unregistered; else NONE."""
    if not is_module(owner) or not isinstance(owner, Instance) or not isinstance(owner.of, ClassValue):
        return NONE
    held = frame.heap.get(owner, attribute(name))
    if isinstance(held, Tensor):
        is_plain = held.owner is NONE and frame.heap.get(owner, registered(name)) is None
        return pack(owner.of, constant(name)) if is_plain else NONE
    is_container = isinstance(held, Tuple) or (isinstance(held, Instance) and held.kind in (LIST, DICT))
    if held is None or not is_container:
        return NONE
    is_mapping = isinstance(held, Instance) and held.kind == DICT
    found = (any_value(frame, held),) if is_mapping else elements(frame, held) or (one_element(frame, held),)
    parts = [each for one in found for each in (one.options if isinstance(one, Alternatives) else (one,))]
    return pack(owner.of, constant(name)) if any(map(is_module, parts)) else NONE


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
                yield short != "__init__", Place(code.file.path, each.span.line, each.span.column)
