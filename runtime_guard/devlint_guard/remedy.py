"""What a remedy is, and the value that needs one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from devlint_guard.finding import Change, Step
from devlint_guard.links import Link
from devlint_guard.operands import Met, Scene


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do.

    Attributes:
        text: in the imperative.
        changes: the lines that do it.
        cause: the action at that place.
    """

    text: str
    changes: tuple[Change, ...]
    cause: Step | None = None


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
