"""Values within the limits are a lattice of their own, and whatever a program does stays in it."""

from __future__ import annotations

import pytest
from devlint.domain.size import GROWING, LARGEST_NUMBER, LARGEST_VALUE, LONGEST_CONSTANT, is_wide, limited
from devlint.domain.value import NUMBER, TEXT, UNKNOWN, Constant, Method, PartialCall, TupleValue, Value, join
from hypothesis import given, settings

from tests.domain import samples

QUICK = settings(max_examples=150, deadline=None, derandomize=True)


def _doubled(value: Value, times: int) -> Value:
    for _ in range(times):
        value = TupleValue((value, value))
    return value


@QUICK
@given(samples.values)
def test_what_is_not_too_large_stays_as_it_is(value: Value) -> None:
    assert limited(value) is value


@QUICK
@given(samples.values, samples.values)
def test_a_join_of_values_within_the_limits_is_within_them(left: Value, right: Value) -> None:
    for one, other in ((left, right), (_doubled(left, 5), _doubled(right, 5)), (_doubled(left, 5), left)):
        if limited(one) is one and limited(other) is other:
            joined = join(one, other)
            assert limited(joined) is joined


@pytest.mark.parametrize("wrap", [lambda held: TupleValue((held, held)), lambda held: PartialCall(held, (held,), ())])
def test_a_value_that_holds_the_one_before_twice_is_forgotten_in_time(wrap: object) -> None:
    assert callable(wrap)
    value: Value = Method(UNKNOWN, "name")
    forgotten = 0
    for _ in range(200):
        value = limited(wrap(value))
        forgotten += value == UNKNOWN
    assert 0 < forgotten < 200


def test_a_value_inside_a_value_is_not_too_deep() -> None:
    value: Value = NUMBER
    for _ in range(2 * LARGEST_VALUE):
        value = limited(TupleValue((value,)))
    assert join(value, value) == value


@pytest.mark.parametrize(
    ("constant", "above"),
    [
        ("a" * (LONGEST_CONSTANT + 1), TEXT),
        (b"a" * (LONGEST_CONSTANT + 1), UNKNOWN),
        (LARGEST_NUMBER + 1, NUMBER),
        (-(10**5_000), NUMBER),
    ],
    ids=["text", "bytes", "number", "many digits"],
)
def test_a_large_constant_is_known_by_its_kind(constant: object, above: Value) -> None:
    assert type(Constant(constant)) in GROWING
    assert limited(Constant(constant)) == above


def test_constants_of_a_usual_size_are_known() -> None:
    for constant in (
        Constant("cuda:0"),
        Constant(LARGEST_NUMBER),
        Constant(-LARGEST_NUMBER),
        Constant(True),
        Constant(None),
    ):
        assert limited(constant) is constant


@pytest.mark.parametrize("template", ["%1000d", "{:10000}", "{:{}}", "{0:>{width}}", "%.9999f"])
def test_a_format_may_ask_for_more_than_it_says(template: str) -> None:
    assert is_wide(template)


@pytest.mark.parametrize("template", ["cuda:%d", "cuda:{}", "{0}:{1}", "%(a)s", "{{}}{}", "%02d"])
def test_a_usual_format_does_not(template: str) -> None:
    assert not is_wide(template)
