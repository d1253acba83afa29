"""The law: after any changes to any project, a warm run reports what a cold run does; see `law`."""

from __future__ import annotations

import pytest

from tests.cache.law import walk


@pytest.mark.parametrize("seed", [1, 2])
def test_a_walk_keeps_the_law(seed: int) -> None:
    walk(20, seed)


@pytest.mark.long
def test_a_long_walk_keeps_the_law() -> None:
    walk(5000, 0)
