"""A value that is not where it is needed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from devlint_guard.explain.links import Link
from devlint_guard.explain.operands import Met, Scene


def register_as_buffer(name: str, owner: str = "self") -> str:
    """Return the advice for a tensor in a plain attribute, in the words of the linter's rule DEV201."""
    call = f'{owner}.register_buffer("{name}", …)'
    return f"register `{owner}.{name}` as a buffer, so that it moves with the module: `{call}`"


@dataclass(frozen=True, slots=True)
class Astray:
    """A value that is not where it is needed.

    Attributes:
        links: its way, the failing line first.
        device: where it is needed.
        other: where the value stands that it meets.
    """

    scene: Scene
    met: Met
    links: Sequence[Link]
    device: str
    other: ast.expr | None
