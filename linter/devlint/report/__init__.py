"""Renderers: diagnostics in, text out. One format a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TypeAlias, cast

from devlint.report import text
from devlint.report.fingerprint import fingerprints, of_text
from devlint.report.outcome import Outcome
from devlint.report.palette import Palette, wants_colour

_Renderer: TypeAlias = Callable[[Outcome, Palette], str]


def _plain(name: str) -> _Renderer:
    """Return the renderer of a format that has no colours, which is loaded when it is used."""

    def render(outcome: Outcome, palette: Palette) -> str:
        return cast(str, import_module(f"devlint.report.{name}").render(outcome))

    return render


FORMATS: Mapping[str, _Renderer] = MappingProxyType(
    {
        "full": text.render_full,
        "concise": text.render_concise,
        **{name: _plain(name) for name in ("json", "jsonl", "sarif", "github", "gitlab", "junit")},
    }
)
"""The output formats by name."""

TEXT_FORMATS = frozenset({"full", "concise"})
"""Those that people read: they may have colour, and a last line about the run follows them."""


summary = text.summary
fixes_hint = text.fixes_hint

__all__ = [
    "FORMATS",
    "TEXT_FORMATS",
    "Outcome",
    "Palette",
    "fingerprints",
    "fixes_hint",
    "of_text",
    "summary",
    "wants_colour",
]
