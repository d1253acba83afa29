"""Gives these tests the judge with pretended devices."""

from __future__ import annotations

from tests.judge.plugin import pretended_judge

__all__ = ["pretended_judge"]
