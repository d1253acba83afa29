"""Ranks as values: a constant, POSITIVE, a symbol or term that stands for one, alternatives of these, or UNKNOWN.

The terms:

* `highest(a, b)`: the rank of operands that were broadcast;
* `more(r, n)`: a rank with n dimensions more, or fewer if n is negative; a 0-dim tensor with more has one element;
* `some(r)`: a rank above 0, for each r;
* `product(a, b)`: the rank of a product of matrices;
* `squeezed(r, n)`: the rank r without n dimensions of size 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeGuard

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
    is_some = isinstance(rank, Term) and rank.operator == "some"
    return is_some or rank is POSITIVE or (exact is not None and exact > 0)


def _by_parts(name: str, rank: Value, *others: Value) -> Value:
    """Return an operation on a rank that is no number: by its alternatives, as a term, or unknown."""
    if isinstance(rank, Alternatives):
        return join_all([OPERATIONS[name](each, *others) for each in rank.options])
    if isinstance(rank, Term) and rank.operator == "ite":
        test, then, orelse = rank.arguments
        return either(test, OPERATIONS[name](then, *others), OPERATIONS[name](orelse, *others))
    return term(name, rank, *others) if is_symbolic(rank) else UNKNOWN


def more(rank: Value, dimensions: Value) -> Value:
    """Return a rank with so many dimensions more; none has less than 0."""
    exact, added = number(rank), number(dimensions)
    if added is None:
        return UNKNOWN
    if not added:
        return rank
    if exact is not None:
        return POSITIVE if exact == 0 and added > 0 else constant(max(exact + added, 0))
    if rank is POSITIVE:
        return POSITIVE if added > 0 else UNKNOWN
    found = _by_parts("more", rank, dimensions)
    return some(found) if added > 0 else found


def some(rank: Value) -> Value:
    """Return a rank that is above 0."""
    if number(rank) is not None or is_positive(rank):
        return rank
    found = _by_parts("some", rank)
    return POSITIVE if found is UNKNOWN else found


def _is_highest(rank: Value) -> TypeGuard[Term]:
    return isinstance(rank, Term) and rank.operator == "highest"


def _text(value: Value) -> str:
    return value.text


def highest(*ranks: Value) -> Value:
    """Return the rank of operands that were broadcast; of a part that was broadcast itself, its operands count."""
    parts = [each.arguments if isinstance(each, Term) and each.operator == "highest" else (each,) for each in ranks]
    ranks = tuple([each for part in parts for each in part])
    exact = [number(each) for each in ranks]
    known = [each for each in exact if each is not None]
    if ranks and len(known) == len(exact):
        return constant(max(known))
    inner = [part for each in ranks for part in (each.arguments if _is_highest(each) else (each,))]
    symbols = sorted(dict.fromkeys([each for each in inner if number(each) != 0]), key=_text)
    if len(symbols) == 1 or POSITIVE in symbols:
        return POSITIVE if POSITIVE in symbols else symbols[0]
    found = term("highest", *symbols) if any(map(is_symbolic, symbols)) else UNKNOWN
    return POSITIVE if found is UNKNOWN and any(map(is_positive, symbols)) else found


def product(one: Value, two: Value) -> Value:
    """Return the rank of a product of two operands with these ranks; an operand may be a vector."""
    first, second = number(one), number(two)
    if first is not None and second is not None:
        high, low = max(first, second), min(first, second)
        return constant(0 if high < 2 else high - (low < 2))
    if is_symbolic(one) or is_symbolic(two):
        return term("product", one, two)
    return POSITIVE if any(exact is not None and exact > 1 for exact in (first, second)) else UNKNOWN


def squeezed(rank: Value, dimensions: Value) -> Value:
    """Return the rank that is left if some dimensions are taken out that have size 1."""
    before, taken = number(rank), number(dimensions)
    if before is None or taken is None:
        return _by_parts("squeezed", rank, dimensions) if taken is not None or is_symbolic(dimensions) else UNKNOWN
    return POSITIVE if before > taken else constant(0) if before == 0 else UNKNOWN


OPERATIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "highest": highest,
    "more": more,
    "some": some,
    "product": product,
    "squeezed": squeezed,
}
"""The function that folds each term of this module, by the name of the operation."""
