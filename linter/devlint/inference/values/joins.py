"""Joins of values, where two paths meet.

`join` forgets which path was taken and returns alternatives. `either` remembers the test that chose.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.values.objects import Bound, ClassValue, Function, Library, Method
from devlint.inference.values.tensors import (
    Alternatives,
    Array,
    Row,
    Source,
    Tensor,
    Tuple,
    alternatives,
    array,
    as_test,
    options,
    pack,
    row,
    tensor,
)
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    FALSE,
    NONE,
    NUMBER,
    OTHER_KEYS,
    TRUE,
    UNKNOWN,
    Constant,
    Term,
    Value,
    is_symbolic,
    term,
)

MOST_OPTIONS: Final = 6
"""How many alternatives a value may have; a value that would have more is unknown."""

MOST_CODE: Final = 14
"""The largest number of alternatives that are all code, such as the callees in a loop over functions."""


def join(one: Value, two: Value) -> Value:
    """Return a value that stands for both."""
    if one is two or two is BOTTOM:
        return one
    if one is BOTTOM:
        return two
    if one is UNKNOWN or two is UNKNOWN:
        return UNKNOWN
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        return _tensors(one, two, join(one.device, two.device), join(one.rank, two.rank))
    if isinstance(one, Array) and isinstance(two, Array):
        return array(join(one.rank, two.rank))
    if isinstance(one, Tuple) and isinstance(two, Tuple) and len(one.items) == len(two.items):
        return pack(*[join(a, b) for a, b in zip(one.items, two.items, strict=True)])
    if isinstance(one, Row) and isinstance(two, Row):
        return _rows(one, two)
    if isinstance(one, Row) or isinstance(two, Row):
        return UNKNOWN
    if NUMBER in (one, two) and _is_number(one) and _is_number(two):
        return NUMBER
    return _options(one, two)


def join_all(values: list[Value] | tuple[Value, ...]) -> Value:
    """Return a value that stands for all; bottom for none."""
    whole: Value = BOTTOM
    for each in values:
        whole = join(whole, each)
    return whole


def either(test: Value, then: Value, orelse: Value) -> Value:
    """Return the conditional value: `then` if the test, a symbol or a term, holds, else `orelse`."""
    if isinstance(then, Term) and then.operator == "ite" and _implies(test, then.arguments[0]):
        then = then.arguments[1]
    then, orelse = under(test, then, 1), under(test, orelse, 2)
    test = as_test(test)
    if then is orelse or orelse is BOTTOM:
        return then
    if then is BOTTOM:
        return orelse
    if then is UNKNOWN or orelse is UNKNOWN or not is_symbolic(test):
        return join(then, orelse)
    if isinstance(then, Tensor) and isinstance(orelse, Tensor):
        where, rank = either(test, then.device, orelse.device), either(test, then.rank, orelse.rank)
        return _tensors(then, orelse, where, rank)
    if isinstance(then, Tuple) and isinstance(orelse, Tuple) and len(then.items) == len(orelse.items):
        return pack(*[either(test, a, b) for a, b in zip(then.items, orelse.items, strict=True)])
    if isinstance(then, Row) or isinstance(orelse, Row):
        return join(then, orelse)
    if then is TRUE and orelse is FALSE:
        return test
    if then is FALSE and orelse is TRUE:
        return test.arguments[0] if isinstance(test, Term) and test.operator == "not" else term("not", test)
    chosen = term("ite", test, then, orelse)
    return join(then, orelse) if chosen is UNKNOWN else chosen


def under(test: Value, value: Value, branch: int) -> Value:
    """Return a value where a test holds (branch 1) or fails (branch 2)."""
    is_chosen = isinstance(value, Term) and value.operator == "ite" and value.arguments[0] is test
    return value.arguments[branch] if isinstance(value, Term) and is_chosen else value


def _implies(test: Value, other: Value) -> bool:
    """Whether another test certainly holds where a test holds."""
    return test is other or (isinstance(test, Term) and test.operator == "and" and other in test.arguments)


def earlier(one: Value, two: Value) -> Value:
    """Return the source of a device for the report: a known one, and of two places the first in the text."""
    if one is two or two is NONE:
        return one
    if one is NONE:
        return two
    if isinstance(one, Source) and isinstance(two, Source):
        return min(one, two, key=_text)
    first, second = sorted((one, two), key=_text)
    found = term("earlier", first, second)
    return (one if isinstance(one, Source) else two) if found is UNKNOWN else found


def _text(value: Value) -> str:
    return value.text


def _tensors(one: Tensor, two: Tensor, where: Value, rank: Value) -> Value:
    owner = one.owner if one.owner is two.owner else NONE if NONE in (one.owner, two.owner) else TRUE
    return tensor(where, rank, owner, earlier(one.source, two.source))


def _is_number(value: Value) -> bool:
    return value is NUMBER or (isinstance(value, Constant) and value is not NONE)


def _rows(one: Row, two: Row) -> Value:
    if one.base is not two.base:
        return row(UNKNOWN)
    first, second = dict(one.entries), dict(two.entries)
    entries: dict[Value, Value] = {}
    for key in (*first, *second):
        a, b = first.get(key), second.get(key)
        if key is OTHER_KEYS:
            entries[key] = join(BOTTOM if a is None else a, BOTTOM if b is None else b)
        elif a is None or b is None:
            entries[key] = join(_below(one, key) if a is None else a, _below(two, key) if b is None else b)
        else:
            entries[key] = join(a, b)
    return row(one.base, tuple(entries.items()))


def _below(content: Row, key: Value) -> Value:
    """Return the value of a row under a key without an entry."""
    return ABSENT if content.base is NONE and not any(each is OTHER_KEYS for each, _ in content.entries) else UNKNOWN


def _options(one: Value, two: Value) -> Value:
    found: dict[Value, None] = {}
    alike: dict[int, Value] = {}
    for each in (*options(one), *options(two)):
        if isinstance(each, (Tensor, Tuple)):
            key = len(each.items) if isinstance(each, Tuple) else -1
            alike[key] = join(alike.get(key, BOTTOM), each)
        else:
            found[each] = None
    if NUMBER in found:
        found = {each: None for each in found if each is NUMBER or not _is_number(each)}
    found.update(dict.fromkeys(alike.values()))
    if UNKNOWN in found:
        return UNKNOWN
    most = (
        MOST_CODE
        if all(isinstance(each, (Function, Bound, ClassValue, Library, Method)) for each in found)
        else MOST_OPTIONS
    )
    if len(found) > most:
        return NUMBER if all(map(_is_number, found)) else UNKNOWN
    return alternatives(tuple(found)) if len(found) > 1 else next(iter(found))


__all__ = ["Alternatives", "earlier", "either", "join", "join_all", "under"]
