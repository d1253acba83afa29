"""Words that the headlines of several rules share."""

from __future__ import annotations

from devlint.facts import Broken, Side

__all__ = ["Broken", "named", "quoted"]


def quoted(text: str) -> str:
    """Return code in backquotes."""
    return f"`{text}`"


def named(side: Side) -> str:
    """Return the name of a value in backquotes. A value without a name gets the words for its kind."""
    if side.name:
        return quoted(side.name)
    return "its module" if side.is_module else "one of its tensors"
