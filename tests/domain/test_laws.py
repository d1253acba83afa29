"""The laws of `tests.domain.laws` for every domain, on hand-written samples and on generated elements."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from devlint.domain import device, environment, heap, value
from devlint.domain.environment import Environment
from devlint.domain.heap import Object
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain import samples
from tests.domain.laws import Domain, check_chain, check_one, check_three, check_two

QUICK = settings(max_examples=25, derandomize=True)
MANY = settings(max_examples=500)


def _join_objects(left: Object, right: Object) -> Object:
    joined = heap.join(left, right)
    assert joined is not None, "objects of one kind"
    return joined


def _join_environments(left: Environment, right: Environment) -> Environment:
    joined = environment.join(left, right)
    assert joined is not None
    return joined


def _itself(thing: object) -> object:
    return thing


# Each chain is as long as its parts together: a tuple of three tensors changes three times as often as one.
DOMAINS: tuple[Domain[Any], ...] = (
    # One variable more with each join, then those of all inputs, then any device.
    Domain("device", samples.DEVICES, samples.devices, device.join, _itself, device.MOST_VARIABLES + 2),
    Domain("rank", samples.RANKS, samples.ranks, value.join_ranks, _itself, 2),
    Domain("value", samples.VALUES, samples.values, value.join, samples.content, 20),
    Domain("list", samples.SEQUENCES, samples.sequences(None), _join_objects, samples.content, 40),
    Domain("dict", samples.DICTIONARIES, samples.dictionaries(None), _join_objects, samples.content, 60),
    Domain("instance", samples.INSTANCES, samples.instances(samples.CLASS_A), _join_objects, samples.content, 60),
    Domain(
        "library-object",
        samples.LIBRARY_OBJECTS,
        samples.library_objects("torch.nn.Linear"),
        _join_objects,
        samples.content,
        40,
    ),
    Domain("optimizer", samples.OPTIMIZERS, samples.optimizers("torch.optim.Adam"), _join_objects, samples.content, 40),
    Domain(
        "heap",
        [heap.Heap()],
        samples.heaps,
        heap.join_heaps,
        lambda found: samples.content(Environment(heap=found)),
        80,
    ),
    Domain(
        "environment",
        samples.ENVIRONMENTS,
        samples.environments(fallback=False),
        _join_environments,
        samples.content,
        100,
    ),
    Domain(
        "environment-without-accelerator",
        [Environment(fallback=True), Environment({"x": value.Constant("cpu")}, fallback=True)],
        samples.environments(fallback=True),
        _join_environments,
        samples.content,
        100,
    ),
)

every_domain = pytest.mark.parametrize("domain", DOMAINS, ids=[domain.name for domain in DOMAINS])


@every_domain
def test_samples(domain: Domain[Any]) -> None:
    for one in domain.samples:
        check_one(domain, one)
    for one, two in product(domain.samples, repeat=2):
        check_two(domain, one, two)
    for one, two, three in product(domain.samples, repeat=3):
        check_three(domain, one, two, three)
    check_chain(domain, list(domain.samples) * 2)


def _check_generated(domain: Domain[Any], data: st.DataObject) -> None:
    one, two, three = (data.draw(domain.generated) for _ in range(3))
    check_one(domain, one)
    check_two(domain, one, two)
    check_three(domain, one, two, three)


@every_domain
@QUICK
@given(data=st.data())
def test_generated(domain: Domain[Any], data: st.DataObject) -> None:
    _check_generated(domain, data)


@pytest.mark.long
@every_domain
@MANY
@given(data=st.data())
def test_many_generated(domain: Domain[Any], data: st.DataObject) -> None:
    _check_generated(domain, data)


def _check_loop(domain: Domain[Any], data: st.DataObject) -> None:
    few = data.draw(st.lists(domain.generated, min_size=1, max_size=4))
    check_chain(domain, [element for _ in range(len(few) + 1) for element in few])


@every_domain
@QUICK
@given(data=st.data())
def test_loops_end(domain: Domain[Any], data: st.DataObject) -> None:
    _check_loop(domain, data)


@pytest.mark.long
@every_domain
@MANY
@given(data=st.data())
def test_many_loops_end(domain: Domain[Any], data: st.DataObject) -> None:
    _check_loop(domain, data)


@pytest.mark.parametrize("one", samples.DEVICES, ids=str)
def test_a_device_joined_with_the_unknown_one_is_unknown(one: device.Device) -> None:
    assert device.join(one, device.UNKNOWN_DEVICE) == device.join(device.UNKNOWN_DEVICE, one) == device.UNKNOWN_DEVICE


@QUICK
@given(left=samples.values, right=samples.values)
def test_the_order_of_values_is_that_of_their_join(left: value.Value, right: value.Value) -> None:
    assert value.leq(left, right) == (value.join(right, left) == right)
    assert value.leq(left, value.UNKNOWN)
    assert value.leq(right, value.join(left, right))


def test_a_join_that_loses_its_right_side_is_caught() -> None:
    domain = Domain("left", samples.DEVICES, samples.devices, lambda left, right: left, _itself, 2)
    with pytest.raises(AssertionError):
        check_two(domain, device.CPU, samples.GPU0)


def test_a_join_that_depends_on_grouping_is_caught() -> None:
    numbers = st.integers()
    domain: Domain[int] = Domain("mean", [0, 4, 8], numbers, lambda left, right: (left + right) // 2, _itself, 2)
    with pytest.raises(AssertionError):
        check_three(domain, 0, 4, 8)


def test_a_chain_without_end_is_caught() -> None:
    domain: Domain[int] = Domain("most", [0], st.integers(), max, _itself, 3)
    with pytest.raises(AssertionError):
        check_chain(domain, list(range(9)))
