"""The words for ranks in the notation of the stubs: how many dimensions an operation leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from devlint.inference.state.containers import elements
from devlint.inference.state.frame import Frame
from devlint.inference.values.objects import Instance
from devlint.inference.values.ranks import highest, more, number, product, squeezed
from devlint.inference.values.tensors import Tuple
from devlint.inference.values.terms import (
    FALSE,
    NONE,
    NUMBER,
    POSITIVE,
    TRUE,
    UNKNOWN,
    Constant,
    Value,
    constant,
)
from devlint.torchlib.signature import Rank

Given = Mapping[str, list[Value]]


def result_rank(frame: Frame, rank: Rank, variables: Mapping[str, Value], ranks: list[Value], given: Given) -> Value:
    """Return the rank of a result.

    Args:
        frame: of the call.
        rank: the rank in the signature.
        variables: the ranks of arguments for which the signature has a name.
        ranks: the ranks of all tensor arguments, in order.
        given: the arguments by parameter.
    """
    if rank is None:
        return UNKNOWN
    if isinstance(rank, int):
        return constant(rank)
    word = _WORDS.get(rank)
    if word is not None:
        return word(frame, ranks, given)
    for sign in (" + ", " - "):
        base, found, dimensions = rank.partition(sign)
        if found:
            return more(variables.get(base, UNKNOWN), constant(int(dimensions) if sign == " + " else -int(dimensions)))
    return variables.get(rank, UNKNOWN)


def _argument(given: Given, name: str) -> Value | None:
    values = given.get(name, [])
    return values[0] if values else None


def _dimensions(frame: Frame, given: Given, rank: Value) -> Value:
    """Return the number of dimensions that `dim` names; all of them if it is None, empty or not given."""
    values = given.get("dim", [])
    if len(values) == 1 and isinstance(values[0], (Tuple, Instance)):
        inside = elements(frame, values[0])
        if inside is None:
            return UNKNOWN
        values = list(inside)
    if not values or (len(values) == 1 and values[0] is NONE):
        return rank
    are_numbers = all(each is NUMBER or (isinstance(each, Constant) and type(each.value) is int) for each in values)
    return constant(len(values)) if are_numbers else UNKNOWN


def _reduced(frame: Frame, ranks: list[Value], given: Given) -> Value:
    rank = ranks[0] if ranks else UNKNOWN
    keep = _argument(given, "keepdim") or FALSE
    if keep is TRUE:
        return rank
    if keep is not FALSE:
        return UNKNOWN
    dimensions = _dimensions(frame, given, rank)
    if dimensions is rank:
        return constant(0) if rank is not UNKNOWN or "dim" not in given else UNKNOWN
    exact = number(dimensions)
    return UNKNOWN if exact is None else more(rank, constant(-exact))


def _squeezed(frame: Frame, ranks: list[Value], given: Given) -> Value:
    rank = ranks[0] if ranks else UNKNOWN
    return squeezed(rank, _dimensions(frame, given, rank))


def _product(_: Frame, ranks: list[Value], given: Given) -> Value:
    return product(ranks[0], ranks[1]) if len(ranks) > 1 else UNKNOWN


def _loss(_: Frame, ranks: list[Value], given: Given) -> Value:
    how = _argument(given, "reduction")
    if "reduce" in given or "size_average" in given or (how is not None and not isinstance(how, Constant)):
        return UNKNOWN
    return highest(*ranks) if isinstance(how, Constant) and how.value == "none" else constant(0)


def _equation(_: Frame, ranks: list[Value], given: Given) -> Value:
    text = _argument(given, "equation")
    if not isinstance(text, Constant) or not isinstance(text.value, str) or "->" not in text.value or "." in text.value:
        return UNKNOWN
    return constant(len(text.value.rpartition("->")[2].replace(" ", "")))


def _pattern(_: Frame, ranks: list[Value], given: Given) -> Value:
    """As many as a pattern of einops names behind its arrow, a group in brackets as one."""
    text = _argument(given, "pattern")
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return UNKNOWN
    depth, names = 0, 0
    words = text.value.rpartition("->")[2].replace("(", " ( ").replace(")", " ) ").split()
    for word in words:
        names += depth == 0 and word != ")"
        depth += {"(": 1, ")": -1}.get(word, 0)
    return (POSITIVE if names > 1 else UNKNOWN) if "..." in words else constant(names)


def _broadcast(_: Frame, ranks: list[Value], given: Given) -> Value:
    return highest(*ranks)


def _positive(_: Frame, ranks: list[Value], given: Given) -> Value:
    return POSITIVE


_WORDS: Final[Mapping[str, Callable[[Frame, list[Value], Given], Value]]] = {
    "broadcast": _broadcast,
    "positive": _positive,
    "reduced": _reduced,
    "squeezed": _squeezed,
    "product": _product,
    "loss": _loss,
    "equation": _equation,
    "pattern": _pattern,
}
