"""Gives these tests the judge."""

from __future__ import annotations

from tests.judge.plugin import judge

__all__ = ["judge"]
