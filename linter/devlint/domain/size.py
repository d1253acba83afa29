"""How large a value may be.

A program of a few lines can double a tuple or a text thirty times. Each transfer function makes a value that is at
most a few times as large as those that it was given, and what it makes goes through `limited` before anything else
sees it. So neither a value nor its text grows without end. A join never makes a value larger than both of its sides:
the values within the limit are a lattice of their own, and all laws of the domain hold in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from devlint.domain.value import (
    UNKNOWN,
    Bound,
    Closure,
    Constant,
    Method,
    Optional,
    Partial,
    Replace,
    Super,
    Test,
    Tuple,
    Value,
    host_of,
)

LARGEST_VALUE = 1_000
"""How many values one value may consist of, itself included; one that stands in it twice counts twice."""

LONGEST_CONSTANT = 4_000
"""How many characters or bytes a constant may have."""

LARGEST_NUMBER = 2**63 - 1
"""The largest number that is known as such; Python writes larger ones, but counts nothing with them."""

GROWING = frozenset({Constant, Tuple, Optional, Method, Closure, Bound, Partial, Super, Test})
"""The classes of values that a program can make as large as it likes."""

_WIDE = re.compile(r"\d{4}|\{[^{}]+\{")
"""Asks a format for a width of thousands of characters, or for one that an argument decides."""


def limited(value: Value) -> Value:
    """Return a value within the limits: itself, or the least value above it that is not too large."""
    if type(value) is Constant:
        return _limited_constant(value)
    return UNKNOWN if _is_too_large(value) else value


def _limited_constant(constant: Constant) -> Value:
    held = constant.value
    if isinstance(held, int):
        return constant if -LARGEST_NUMBER <= held <= LARGEST_NUMBER else host_of(held)
    if isinstance(held, (str, bytes)) and len(held) > LONGEST_CONSTANT:
        return host_of(held)
    return constant


def _is_too_large(value: Value) -> bool:
    pending: list[Value] = [value]
    count = 0
    while pending:
        count += 1
        if count > LARGEST_VALUE:
            return True
        pending.extend(_inside(pending.pop()))
    return False


def _inside(value: Value) -> Iterable[Value]:
    """What a value consists of; objects are not part of a reference, nor are the names around a function."""
    match value:
        case Tuple(items):
            return items
        case Optional(present):
            return (present,)
        case Method(receiver) | Super(receiver):
            return (receiver,)
        case Bound(function, receiver):
            return (function, receiver)
        case Closure(defaults=defaults):
            return [default for _, default in defaults]
        case Partial(function, arguments, keywords):
            return (function, *arguments, *(given for _, given in keywords))
        case Test(holds, fails):
            proofs = [proof for proof in holds + fails if isinstance(proof, Replace)]
            return [part for proof in proofs for part in (proof.seen, proof.by)]
        case _:
            return ()


def is_wide(template: str) -> bool:
    """Whether a text that is used as a format may ask for more than it says itself: `"%9999d"`, `"{:{}}"`."""
    return _WIDE.search(template) is not None
