"""Small worlds: random operations on symbols, with what they give for each choice of the symbols' values.

`Sample.value` is what the analysis makes of the operations; `Sample.in_world` computes the same directly in Python, so
that a law can compare the two in every world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

from devlint.inference.values import devices
from devlint.inference.values.folding import fold
from devlint.inference.values.tensors import CPU, Alternatives, Device, device
from devlint.inference.values.terms import (
    DEVICE,
    FALSE,
    NO_DEVICE,
    NONE,
    PARAMETER,
    POSITIVE,
    TRUE,
    Constant,
    Symbol,
    Term,
    Value,
    constant,
    root,
    symbol,
)

World = dict[Value, Value]
Concrete = Callable[[World], Value]

TESTS = tuple(root(PARAMETER, name) for name in "pq")
PLACES = tuple(symbol(root(PARAMETER, name), DEVICE) for name in "xy")
NAMED = root(PARAMETER, "place")
COUNT = root(PARAMETER, "n")

DEVICES = (CPU, device("cuda:0"), device("cuda:1"), NO_DEVICE)
NAMES = (NONE, constant("cpu"), constant("cuda:1"), constant(0), device("cuda:0"))

CHOICES: dict[Value, tuple[Value, ...]] = {
    **dict.fromkeys(TESTS, (TRUE, FALSE)),
    **dict.fromkeys(PLACES, DEVICES),
    NAMED: NAMES,
    COUNT: tuple(map(constant, (0, 1, 2))),
}


class Raises(Exception):  # noqa: N818
    """The operations raise in this world."""


@dataclass(frozen=True)
class Sample:
    """What the analysis makes of operations, and what they give in a world."""

    value: Value
    in_world: Concrete


def worlds(*values: Value) -> Iterator[World]:
    """Yield every choice of values for the symbols in some values."""
    used = [each for each in CHOICES if any(speaks_of(value, each) for value in values)]
    for chosen in product(*[CHOICES[each] for each in used]):
        yield dict(zip(used, chosen, strict=True))


def speaks_of(value: Value, part: Value) -> bool:
    """Return whether a value is made of a symbol."""
    if value is part:
        return True
    inner = value.arguments if isinstance(value, Term) else value.options if isinstance(value, Alternatives) else ()
    return any(speaks_of(each, part) for each in inner)


def put(value: Value, world: World) -> Value:
    """Return a value with a world's values in the place of symbols, folded again."""
    if value in world:
        return world[value]
    if isinstance(value, Term):
        return fold(value.operator, *[put(each, world) for each in value.arguments])
    assert not isinstance(value, Symbol)
    return value


def some_test(random: Random, depth: int) -> Sample:
    """Return a test."""
    form = random.randrange(6) if depth else 0
    if form == 0:
        one = random.choice(TESTS)
        return Sample(one, lambda world: world[one])
    inner = some_test(random, depth - 1)
    if form == 1:
        return Sample(fold("not", inner.value), lambda world: constant(inner.in_world(world) is FALSE))
    if form == 2:
        limit = constant(random.randrange(3))
        name = random.choice(["<", "==", ">=", "!="])
        return Sample(fold(name, COUNT, limit), lambda world: fold(name, world[COUNT], limit))
    if form == 3:
        place = some_device(random, depth - 1)
        kind = random.choice(["cpu", "cuda"])

        def of_type(world: World) -> Value:
            found = place.in_world(world)
            if not isinstance(found, Device):
                raise Raises
            return constant(devices.type_of(found.name) == kind)

        return Sample(fold("is_of_type", place.value, constant(kind)), of_type)
    other = some_test(random, depth - 1)
    name = "and" if form == 4 else "or"

    def both(world: World) -> Value:
        one, two = inner.in_world(world) is TRUE, other.in_world(world) is TRUE
        return constant(one and two if name == "and" else one or two)

    return Sample(fold(name, inner.value, other.value), both)


def some_worlds(random: Random, count: int) -> Iterator[World]:
    """Yield choices of values for all symbols."""
    for _ in range(count):
        yield {each: random.choice(values) for each, values in CHOICES.items()}


def some_device(random: Random, depth: int) -> Sample:
    """Return a device."""
    form = random.randrange(6) if depth else random.randrange(2)
    if form == 0:
        one = random.choice(DEVICES)
        return Sample(one, lambda _: one)
    if form == 1:
        place = random.choice(PLACES)
        return Sample(place, lambda world: world[place])
    if form == 2:
        default = random.choice(DEVICES[:3])
        return Sample(fold("denoted", NAMED, default), lambda world: named(world[NAMED], default))
    one_side, other_side = some_device(random, depth - 1), some_device(random, depth - 1)
    if form == 3:
        return Sample(
            fold("meet", one_side.value, POSITIVE, other_side.value, POSITIVE),
            lambda w: met(one_side.in_world(w), other_side.in_world(w)),
        )
    test = some_test(random, depth - 1)
    return Sample(
        fold("ite", test.value, one_side.value, other_side.value),
        lambda world: (one_side if test.in_world(world) is TRUE else other_side).in_world(world),
    )


def named(value: Value, default: Value) -> Value:
    """Return the device that a value of `NAMES` names."""
    if isinstance(value, Constant) and value is not NONE:
        return device(value.value if isinstance(value.value, str) else f"cuda:{value.value}")
    return default if value is NONE else value


def met(one: Value, two: Value) -> Value:
    """Return the device that two operands share."""
    if one is not two and NO_DEVICE not in (one, two):
        raise Raises
    return two if one is NO_DEVICE else one
