"""Subscripts and iteration, with the methods of the project's classes."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.attributes import read
from devlint.inference.requirements.machines import set_variable
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.containers import item, one_element, set_item
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.values.data import (
    ANYWHERE,
    HOST,
    INDEX,
    ON_HOST,
    ONE_ELEMENT,
    READ_INDEX,
    Participant,
)
from devlint.inference.values.joins import join_all
from devlint.inference.values.objects import LIBRARY, ClassValue, Function, Instance, Library, bound
from devlint.inference.values.ranks import number
from devlint.inference.values.tensors import CPU, Alternatives, Array, Tensor, Tuple
from devlint.inference.values.terms import BOTTOM, LAZY, NONE, NUMBER, UNKNOWN, Root, Value, is_symbolic

ENVIRONMENT: Final = "os.environ"


def own_method(owner: Value, name: str) -> Value | None:
    """Return a method of the project's class of an object."""
    found = owner.of.code.lookup(name) if isinstance(owner, Instance) and isinstance(owner.of, ClassValue) else None
    return bound(found, owner) if isinstance(found, Function) else None


def subscript(frame: Frame, owner: Value, index: Value, span: ir.Span) -> Value:
    """Return `owner[index]`; UNKNOWN if Python raises."""
    called = own_method(owner, "__getitem__")
    if called is not None:
        return frame.engine.call(frame, called, Arguments([index], {}), span)
    if isinstance(owner, Instance) and owner.kind == LIBRARY:
        held = read(frame, owner, "__getitem__", span)
        if held is not UNKNOWN:
            return frame.engine.call(frame, held, Arguments([index], {}), span)
    found = item(frame, owner, index)
    return UNKNOWN if found is BOTTOM else found


def require_index(frame: Frame, owner: Value, index: Value, span: ir.Span) -> None:
    """Record the requirement of `owner[index]`: the index is on the CPU, or where its owner is if that is a tensor."""
    parts = index.items if isinstance(index, Tuple) else (index,)
    for each in parts:
        if not may_be_tensor(each):
            continue
        if isinstance(owner, Array):
            require(frame, "[]", [participant(frame, each, ONE_ELEMENT), Participant(HOST, CPU)], span, ON_HOST)
        elif may_be_tensor(owner):
            index_part = participant(frame, each, ANYWHERE, INDEX)
            require(frame, "[]", [participant(frame, owner), index_part], span, READ_INDEX)


def may_be_tensor(value: Value) -> bool:
    """Whether a value may be a tensor: a tensor, one of several values, or a symbol or term."""
    return isinstance(value, (Tensor, Alternatives)) or is_symbolic(value)


def set_subscript(frame: Frame, owner: Value, index: Value, value: Value, span: ir.Span) -> None:
    """Store `owner[index] = value`; a tensor is copied into, from any device, but for values put at indices."""
    called = own_method(owner, "__setitem__")
    if called is not None:
        frame.engine.call(frame, called, Arguments([index, value], {}), span)
        return
    if isinstance(owner, (Root, Library)) and owner.name == ENVIRONMENT:
        set_variable(frame, index, value, span)
    if isinstance(owner, Array):
        if isinstance(value, Tensor):
            require(frame, "[]=", [participant(frame, value, ANYWHERE), Participant(HOST, CPU)], span, ON_HOST)
        return
    parts = index.items if isinstance(index, Tuple) else (index,)
    by_index = [each for each in parts if isinstance(each, Instance) or _is_index(each)]
    if may_be_tensor(owner) and by_index and may_be_tensor(value):
        require(frame, "[]=", [participant(frame, owner), participant(frame, value, ONE_ELEMENT)], span)
    set_item(frame, owner, index, value)


def _is_index(value: Value) -> bool:
    """Whether a tensor takes elements by their places: one without dimensions is a number."""
    return isinstance(value, Tensor) and number(value.rank) != 0


def iterated(frame: Frame, value: Value, span: ir.Span) -> Value:
    """Return the join of all elements that an iteration over the value yields."""
    if isinstance(value, Alternatives):
        return join_all([iterated(frame, each, span) for each in value.options if each is not NONE])
    lazy = frame.heap.get(value, LAZY)
    if isinstance(lazy, Tuple):
        handed = [iterated(frame, each, span) for each in lazy.items[1:]]
        return frame.engine.call(frame, lazy.items[0], Arguments(handed, {}), span)
    for name in ("__iter__", "__next__", "__getitem__"):
        called = own_method(value, name)
        if called is None:
            continue
        found = frame.engine.call(frame, called, Arguments([NUMBER] if name == "__getitem__" else [], {}), span)
        if name != "__iter__":
            return found
        follows = own_method(value, "__next__") if found is value else None
        if follows is not None:
            return frame.engine.call(frame, follows, Arguments([], {}), span)
        return UNKNOWN if found is value else iterated(frame, found, span)
    if isinstance(value, Instance) and value.kind == LIBRARY:
        held = read(frame, value, "__iter__", span)
        if held is not UNKNOWN:
            return one_element(frame, frame.engine.call(frame, held, Arguments([], {}), span))
    return one_element(frame, value)
