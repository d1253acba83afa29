"""Renderers: diagnostics in, text out. One format a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from devlint.report import github, gitlab, json, jsonl, sarif, statistics, text
from devlint.report.fingerprint import fingerprints
from devlint.report.outcome import Outcome
from devlint.report.palette import Palette, wants_colour

_Renderer: TypeAlias = Callable[[Outcome, Palette], str]


def _plain(render: Callable[[Outcome], str]) -> _Renderer:
    """Return a renderer of a format that has no colours."""
    return lambda outcome, palette: render(outcome)


def _junit(outcome: Outcome) -> str:
    """Render as XML; what that takes is slow to load, and few ask for it."""
    from devlint.report import junit

    return junit.render(outcome)


FORMATS: Mapping[str, _Renderer] = MappingProxyType(
    {
        "full": text.render_full,
        "concise": text.render_concise,
        "json": _plain(json.render),
        "jsonl": _plain(jsonl.render),
        "sarif": _plain(sarif.render),
        "github": _plain(github.render),
        "gitlab": _plain(gitlab.render),
        "junit": _plain(_junit),
    }
)
"""The output formats by name."""

TEXT_FORMATS = frozenset({"full", "concise"})
"""Those that people read: they may have colour, and a last line about the run follows them."""

render_statistics = statistics.render
summary = text.summary
fixes_hint = text.fixes_hint
unforeseen = text.unforeseen

TELLING_UNFORESEEN = TEXT_FORMATS | {"json"}
"""Those that also hold what recorded runs have met and no diagnostic tells of."""

__all__ = [
    "FORMATS",
    "TELLING_UNFORESEEN",
    "TEXT_FORMATS",
    "Outcome",
    "Palette",
    "fingerprints",
    "fixes_hint",
    "render_statistics",
    "summary",
    "unforeseen",
    "wants_colour",
]
