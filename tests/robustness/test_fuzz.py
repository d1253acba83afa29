"""A few inputs of each kind that nobody would write; `python -m tests.robustness` gives as many as one likes."""

from __future__ import annotations

import pytest

from tests.robustness.__main__ import failures
from tests.robustness.inputs import KINDS, make


@pytest.mark.parametrize("kind", KINDS)
def test_odd_inputs_break_nothing(kind: str) -> None:
    assert list(failures(kind, 0, range(6))) == []


@pytest.mark.long
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("kind", KINDS)
def test_many_odd_inputs_break_nothing(kind: str) -> None:
    assert list(failures(kind, 1, range(20_000))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_follows_from_its_seed_and_number(kind: str) -> None:
    assert make(kind, 3, 5) == make(kind, 3, 5)
    assert len({make(kind, seed, number) for seed in range(2) for number in range(4)}) > 4
