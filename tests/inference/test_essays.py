"""The essays of the packages are true."""

from __future__ import annotations

import doctest
from types import ModuleType

import devlint.inference
import devlint.inference.state
import devlint.inference.values
import pytest


@pytest.mark.parametrize("package", [devlint.inference, devlint.inference.state, devlint.inference.values])
def test_its_example_is_true(package: ModuleType) -> None:
    assert doctest.testmod(package).failed == 0
