"""How large a value may be.

A program of a few lines can double a tuple or a text thirty times. The result of a transfer
function is at most a few times as large as its operands, and `limited` replaces a result that is too large at once. So
neither a value nor its text grows without end. A join never makes a value larger than both of its sides: the values
within the limit are a lattice of their own, and all laws of the domain hold in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from devlint.domain.value import (
    UNKNOWN,
    BoundMethod,
    Closure,
    Constant,
    MaybeNone,
    Method,
    PartialCall,
    Predicate,
    Replace,
    Super,
    TupleValue,
    Value,
    host_of,
)

LARGEST_VALUE = 1_000
"""How many values one value may consist of, itself included; one that stands in it twice counts twice."""

LONGEST_CONSTANT = 4_000
"""How many characters or bytes a constant may have."""

LARGEST_NUMBER = 2**63 - 1
"""The largest number that is known as such; Python writes larger ones, but counts nothing with them."""

_WIDE = re.compile(r"\d{4}|\{[^{}]+\{")
"""Asks a format for a width of thousands of characters, or for one that an argument decides."""


def limited(value: Value) -> Value:
    """Return a value within the limits: itself, or the least value above it that is not too large."""
    if type(value) is Constant:
        return _limited_constant(value)
    return UNKNOWN if type(value) in _PARTS and _is_too_large(value) else value


def _limited_constant(constant: Constant) -> Value:
    held = constant.value
    if isinstance(held, int):
        return constant if -LARGEST_NUMBER <= held <= LARGEST_NUMBER else host_of(type(held))
    if isinstance(held, (str, bytes)) and len(held) > LONGEST_CONSTANT:
        return host_of(type(held))
    return constant


def _is_too_large(value: Value) -> bool:
    pending: list[Value] = [value]
    count = 1
    while pending:
        compound = pending.pop()
        for part in _PARTS[type(compound)](compound):
            count += 1
            if type(part) in _PARTS:
                pending.append(part)
        if count > LARGEST_VALUE:
            return True
    return False


def _parts_of_test(test: Predicate) -> Iterable[Value]:
    for proof in test.holds + test.fails:
        if isinstance(proof, Replace):
            yield proof.seen
            yield proof.by


_PARTS: dict[type, Callable[[Any], Iterable[Value]]] = {
    TupleValue: lambda value: value.items,
    MaybeNone: lambda value: (value.present,),
    Method: lambda value: (value.receiver,),
    Super: lambda value: (value.receiver,),
    BoundMethod: lambda value: (value.function, value.receiver),
    Closure: lambda value: [default for _, default in value.defaults],
    PartialCall: lambda value: (value.function, *value.arguments, *(given for _, given in value.keywords)),
    Predicate: _parts_of_test,
}
"""What a value consists of, by its class; objects are not part of a reference, nor are the names around a function."""

GROWING = frozenset({Constant, *_PARTS})
"""The classes of values that a program can make as large as it likes."""


def is_wide(template: str) -> bool:
    """Whether a text that is used as a format may ask for more than it says itself: `"%9999d"`, `"{:{}}"`."""
    return _WIDE.search(template) is not None
