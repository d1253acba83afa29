"""Values hold what they say in every world: folding commutes with putting in values, joins contain both sides."""

from __future__ import annotations

from random import Random

import pytest
from devlint.inference.values import devices, ranks
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import either, join, join_all
from devlint.inference.values.tensors import Device, Tensor, alternatives, device, options, pack, row, tensor
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    FALSE,
    MOST_NODES,
    NO_DEVICE,
    NONE,
    NUMBER,
    OTHER_KEYS,
    PARAMETER,
    POSITIVE,
    RANK,
    TRUE,
    UNKNOWN,
    Term,
    Value,
    attribute,
    constant,
    root,
    symbol,
    term,
)

from tests.inference.worlds import Raises, put, some_device, some_test, some_worlds, worlds

SEEDS = range(400)


@pytest.mark.parametrize("block", range(4))
def test_folding_again_with_values_gives_what_the_operations_give(block: int) -> None:
    compared = 0
    for seed in range(block * 500, block * 500 + 500):
        random = Random(seed)
        sample = some_device(random, 3) if seed % 2 else some_test(random, 3)
        for world in some_worlds(random, 10):
            try:
                expected = sample.in_world(world)
            except Raises:
                continue
            found = put(sample.value, world)
            assert found in (expected, UNKNOWN, NUMBER), (seed, sample.value, world)
            compared += found is expected
    assert compared > 3000


def test_devices_that_differ_do_so_in_every_world() -> None:
    certain = 0
    for seed in SEEDS:
        random = Random(seed)
        one, two = some_device(random, 2), some_device(random, 2)
        if devices.differ(one.value, two.value):
            certain += 1
            for world in worlds(one.value, two.value):
                a, b = put(one.value, world), put(two.value, world)
                assert isinstance(a, Device)
                assert isinstance(b, Device)
                assert a is not b
        assert devices.differ(one.value, two.value) == devices.differ(two.value, one.value)
    assert certain > 3


def test_what_always_differs_without_symbols_is_found() -> None:
    """Brute force: without symbols `differ` is exact."""
    places = [device(name) for name in ("cpu", "cuda:0", "cuda:1", "meta", "mps")]
    for one in places:
        for two in places:
            assert devices.differ(one, two) == (one is not two)
    assert not devices.differ(device("cuda"), device("cuda:1"))
    assert not devices.differ(NO_DEVICE, device("cpu"))


def test_a_join_stands_for_both() -> None:
    for seed in SEEDS:
        random = Random(seed)
        samples = [some_device(random, 1) for _ in range(4)]
        whole = join_all([each.value for each in samples])
        assert whole is UNKNOWN or {part for each in samples for part in options(each.value)} == set(options(whole))
        shuffled = sorted(samples, key=lambda _: random.random())
        assert join_all([each.value for each in shuffled]) is whole


def test_a_join_of_many_is_unknown() -> None:
    assert join_all([device(f"cuda:{n}") for n in range(7)]) is UNKNOWN
    assert join_all([constant(n) for n in range(7)]) is NUMBER
    assert join_all([NONE, *[constant(n) for n in range(7)]]) is UNKNOWN


def test_two_tensors_join_to_a_tensor() -> None:
    cpu, gpu = tensor(device("cpu"), constant(1)), tensor(device("cuda:0"), constant(1))
    whole = join(cpu, gpu)
    assert isinstance(whole, Tensor)
    assert whole.rank is constant(1)
    assert options(whole.device) == (device("cpu"), device("cuda:0"))
    chosen = either(root(PARAMETER, "p"), cpu, gpu)
    assert isinstance(chosen, Tensor)
    assert put(chosen.device, {root(PARAMETER, "p"): FALSE}) is device("cuda:0")
    assert join(join(cpu, NONE), gpu) is join(cpu, join(NONE, gpu))


def test_rows_join_by_key() -> None:
    one, two = row(NONE, ((constant("a"), TRUE),)), row(NONE, ((constant("b"), TRUE),))
    either_key = alternatives((TRUE, ABSENT))
    assert join(one, two) is row(NONE, ((constant("a"), either_key), (constant("b"), either_key)))
    assert join(one, row(UNKNOWN)) is row(UNKNOWN)
    loose = row(NONE, ((OTHER_KEYS, TRUE),))
    assert join(loose, one) is row(NONE, ((OTHER_KEYS, TRUE), (constant("a"), UNKNOWN)))


def test_terms_are_bounded() -> None:
    whole: Value = root(PARAMETER, "n")
    for _ in range(MOST_NODES):
        whole = fold("+", whole, constant(1))
    assert whole is UNKNOWN
    deep: Value = root(PARAMETER, "x")
    for _ in range(20):
        deep = symbol(deep, attribute("next")) if deep is not UNKNOWN else deep  # type: ignore[arg-type]
    assert deep is UNKNOWN


def test_operations_on_constants_are_pythons() -> None:
    assert fold("+", constant(1), constant(2)) is constant(3)
    assert fold("%", constant("cuda:%d"), constant(1)) is constant("cuda:1")
    assert fold("format", constant("cuda:"), constant(1)) is constant("cuda:1")
    assert fold("text startswith", constant("cuda:1"), constant("cuda")) is TRUE
    assert fold("text split", constant("a b")) is pack(constant("a"), constant("b"))
    assert fold("/", constant(1), constant(0)) is BOTTOM
    assert fold("*", constant("a"), constant(10**9)) is NUMBER
    assert fold("<<", constant(1), constant(10**9)) is NUMBER
    assert constant(1) is not constant(True)
    assert constant(0.0) is not constant(-0.0)
    assert fold("==", constant(1), constant(True)) is TRUE
    assert fold("is", NONE, NONE) is TRUE
    assert fold("is", tensor(device("cpu")), NONE) is FALSE


def test_an_operation_on_one_of_several_is_one_of_their_results() -> None:
    several = join(constant("cpu"), constant("cuda"))
    assert fold("==", several, constant("cpu")) is join(TRUE, FALSE)
    chosen = either(root(PARAMETER, "p"), constant("cpu"), constant("cuda"))
    assert fold("==", chosen, constant("cpu")) is root(PARAMETER, "p")


@pytest.mark.parametrize("ranks_of", [(0, 0), (0, 2), (1, 2), (2, 2)])
def test_the_rank_of_a_broadcast_is_the_highest(ranks_of: tuple[int, int]) -> None:
    one, two = ranks_of
    symbols = [symbol(root(PARAMETER, name), RANK) for name in "xy"]
    whole = ranks.highest(*symbols)
    assert isinstance(whole, Term)
    assert put(whole, dict(zip(symbols, map(constant, ranks_of), strict=True))) is constant(max(one, two))
    assert ranks.highest(constant(one), symbols[0]) in (symbols[0], term("highest", constant(one), symbols[0]))
    assert ranks.is_positive(ranks.highest(constant(1), symbols[0]))
    assert ranks.highest(POSITIVE, UNKNOWN) is POSITIVE
