"""Ranks of results that a signature gives by a word: how many dimensions an operation leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from devlint.analysis.values.arguments import BoundArguments
from devlint.domain.environment import Environment
from devlint.domain.heap import ListObject
from devlint.domain.value import SOME_DIMENSIONS, UNKNOWN, Constant, Rank, Reference, TupleValue, Value

Rule: TypeAlias = Callable[[Environment, Sequence[Rank], BoundArguments], Rank]
"""Takes the ranks of the tensors that must agree, in order, and the arguments by parameter."""


def _broadcast(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """The highest of them."""
    if SOME_DIMENSIONS in operands:
        return SOME_DIMENSIONS
    known = [rank for rank in operands if rank is not None]
    if len(known) == len(operands):
        return max(known, default=None)
    return SOME_DIMENSIONS if any(rank > 0 for rank in known) else None


def _positive(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    return SOME_DIMENSIONS


def _reduced(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """That of the first without the dimensions that `dim` names, unless `keepdim` keeps them with size 1."""
    rank = operands[0] if operands else None
    keepdim = [given.value for given in bound.get("keepdim", ())]
    if keepdim == [Constant(True)]:
        return SOME_DIMENSIONS if rank else rank
    count = _count(env, bound, rank)
    if keepdim not in ([], [Constant(False)]) or rank is None or rank == SOME_DIMENSIONS or count is None:
        return None
    return max(rank - count, 0)


def is_zero(env: Environment, bound: BoundArguments) -> bool:
    """Whether a call writes a size whose first dimension is 0: `torch.empty(0, 3)`, `torch.zeros([0])`."""
    given = next((argument.value for argument in bound.get("size", ())), UNKNOWN)
    held = env.heap.get(given.object) if isinstance(given, Reference) else given
    if isinstance(held, (TupleValue, ListObject)):
        given = held.items[0] if held.items else UNKNOWN
    return type(given) is Constant and type(given.value) is int and given.value == 0


def _squeezed(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """That of the first, perhaps without the dimensions that `dim` names."""
    rank = operands[0] if operands else None
    count = _count(env, bound, rank)
    if rank is None or rank == SOME_DIMENSIONS or count is None:
        return None
    return SOME_DIMENSIONS if rank > count else 0 if rank == 0 else None


def _count(env: Environment, bound: BoundArguments, rank: Rank) -> int | None:
    """How many dimensions `dim` names: all of them if it is None, empty or not given."""
    given: tuple[Value, ...] = tuple(argument.value for argument in bound.get("dim", ()))
    if len(given) == 1 and isinstance(given[0], TupleValue):
        given = given[0].items
    elif len(given) == 1 and isinstance(given[0], Reference):
        held = env.heap.get(given[0].object)
        given = (UNKNOWN,) if not isinstance(held, ListObject) or held.items is None else held.items
    if given in ((), (Constant(None),)):
        return rank
    return len(given) if all(isinstance(one, Constant) and type(one.value) is int for one in given) else None


def _product(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """That of the matrix product of the first two."""
    if len(operands) < 2:
        return None
    ranks = operands[0], operands[1]
    known = [rank for rank in ranks if rank is not None and rank != SOME_DIMENSIONS]
    if len(known) < 2:
        return SOME_DIMENSIONS if any(rank > 1 for rank in known) else None
    return max(known) - (0 if min(known) > 1 else 1)


def _loss(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """Of a loss: a number, unless `reduction="none"` leaves one for each pair of elements."""
    given = [argument.value for argument in bound.get("reduction", ())]
    reduction = given[0].value if given and isinstance(given[0], Constant) else None if given else "mean"
    if reduction is None or bound.get("reduce") or bound.get("size_average"):
        return None
    return _broadcast(env, operands, bound) if reduction == "none" else 0


def _equation(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """As many as the equation of `einsum` names behind its arrow."""
    values = [given.value for given in bound.get("equation", ())]
    text = values[0].value if values and isinstance(values[0], Constant) else None
    if not isinstance(text, str) or "->" not in text or "." in text:
        return None
    return len(text.rpartition("->")[2].replace(" ", ""))


def _pattern(env: Environment, operands: Sequence[Rank], bound: BoundArguments) -> Rank:
    """As many as a pattern of einops names behind its arrow, a group in brackets as one."""
    values = [given.value for given in bound.get("pattern", ())]
    text = values[0].value if values and isinstance(values[0], Constant) else None
    if not isinstance(text, str):
        return None
    names = re.sub(r"\([^)]*\)", " group ", text.rpartition("->")[2]).split()
    return (SOME_DIMENSIONS if len(names) > 1 else None) if "..." in names else len(names)


RULES: Mapping[str, Rule] = {
    "broadcast": _broadcast,
    "positive": _positive,
    "reduced": _reduced,
    "squeezed": _squeezed,
    "product": _product,
    "loss": _loss,
    "equation": _equation,
    "pattern": _pattern,
}
"""The words of the notation for ranks."""
