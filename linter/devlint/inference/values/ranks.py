"""Ranks as values: a constant, POSITIVE, a symbol or term that stands for one, alternatives of these, or UNKNOWN.

The terms: `highest(a, b)` is the rank of operands that were broadcast, `more(r, n)` a rank with n dimensions more, and
with a negative n fewer.
"""

from __future__ import annotations

from devlint.inference.values.joins import either, join_all
from devlint.inference.values.tensors import Alternatives
from devlint.inference.values.terms import POSITIVE, UNKNOWN, Constant, Term, Value, constant, is_symbolic, term


def number(rank: Value) -> int | None:
    """Return a rank that is a number."""
    return rank.value if isinstance(rank, Constant) and type(rank.value) is int else None


def is_positive(rank: Value) -> bool:
    """Whether a rank is above 0 in every world."""
    if isinstance(rank, Alternatives):
        return all(map(is_positive, rank.options))
    if isinstance(rank, Term) and rank.operator == "ite":
        return is_positive(rank.arguments[1]) and is_positive(rank.arguments[2])
    if isinstance(rank, Term) and rank.operator == "highest":
        return any(map(is_positive, rank.arguments))
    exact = number(rank)
    return rank is POSITIVE or (exact is not None and exact > 0)


def more(rank: Value, dimensions: int) -> Value:
    """Return a rank with so many dimensions more; none has less than 0."""
    exact = number(rank)
    if exact is not None:
        return constant(max(exact + dimensions, 0))
    if not dimensions:
        return rank
    if rank is POSITIVE:
        return POSITIVE if dimensions > 0 else UNKNOWN
    if isinstance(rank, Alternatives):
        return join_all([more(each, dimensions) for each in rank.options])
    if isinstance(rank, Term) and rank.operator == "ite":
        test, then, orelse = rank.arguments
        return either(test, more(then, dimensions), more(orelse, dimensions))
    found = term("more", rank, constant(dimensions)) if is_symbolic(rank) else UNKNOWN
    return POSITIVE if found is UNKNOWN and dimensions > 0 else found


def highest(ranks: list[Value]) -> Value:
    """Return the rank of operands that were broadcast."""
    exact = [number(each) for each in ranks]
    known = [each for each in exact if each is not None]
    if ranks and len(known) == len(exact):
        return constant(max(known))
    symbols = list(dict.fromkeys([each for each, value in zip(ranks, exact, strict=True) if value != 0]))
    if len(symbols) == 1:
        return symbols[0]
    if any(map(is_positive, symbols)) and not all(is_symbolic(each) or number(each) is not None for each in symbols):
        return POSITIVE
    found = (
        term("highest", *symbols)
        if symbols and all(is_symbolic(s) or number(s) is not None for s in symbols)
        else UNKNOWN
    )
    return POSITIVE if found is UNKNOWN and any(map(is_positive, symbols)) else found
