"""The pytest fixture `judge`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.judge.client import Judge
from tests.judge.support import require_judge


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """One judge for the whole run of the tests."""
    require_judge()
    with Judge() as session_judge:
        yield session_judge
