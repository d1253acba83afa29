"""The essays of the packages are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

PACKAGES = (
    "calls",
    "entries",
    "execute",
    "libraries",
    "requirements",
    "state",
    "summaries",
    "text",
    "values",
    "verdict",
    "worlds",
)


@pytest.mark.parametrize("package", ["devlint.inference", *[f"devlint.inference.{each}" for each in PACKAGES]])
def test_its_example_is_true(package: str) -> None:
    found = doctest.testmod(import_module(package))
    assert found.attempted > 0
    assert found.failed == 0
