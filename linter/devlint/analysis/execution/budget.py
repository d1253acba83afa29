"""How far calls are followed that are executed with their caller's objects."""

from __future__ import annotations

from dataclasses import field

from devlint.frontend.ir import Function
from devlint.records import dataclass


@dataclass(slots=True)
class Budget:
    """The calls that one body may follow, while it is analysed or summarised.

    Attributes:
        left: how many more are followed.
        running: the functions that are being executed so, one inside the other.
    """

    left: int = 400
    running: set[Function] = field(default_factory=set)
