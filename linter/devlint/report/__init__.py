"""Renderers: diagnostics in, text out. One format a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from devlint.report import json, text
from devlint.report.outcome import Outcome
from devlint.report.palette import Palette, wants_colour

FORMATS: Mapping[str, Callable[[Outcome, Palette], str]] = MappingProxyType(
    {
        "full": text.render_full,
        "concise": text.render_concise,
        "json": lambda outcome, palette: json.render(outcome),
    }
)
"""The output formats by name."""

TEXT_FORMATS = frozenset({"full", "concise"})
"""Those that people read: they may have colour, and a last line about the run follows them."""

summary = text.summary

__all__ = ["FORMATS", "TEXT_FORMATS", "Outcome", "Palette", "summary", "wants_colour"]
