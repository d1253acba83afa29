"""Inputs of each kind that nobody would write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.inputs import KINDS, make
from tests.robustness.trial import Failure, trial


def failures(kind: str, seed: int, numbers: range) -> Iterator[Failure]:
    """What goes wrong with the inputs of these numbers."""
    with tempfile.TemporaryDirectory() as name:
        before = Path.cwd()
        os.chdir(name)
        try:
            for number in numbers:
                failure = trial(kind, number, make(kind, seed, number), Path(name))
                if failure is not None:
                    yield failure
        finally:
            os.chdir(before)


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
