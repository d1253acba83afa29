"""`dataclass`, quick to define and to make: a run defines some hundred of them, and makes values by the million.

To a type checker it is `dataclasses.dataclass`, so that assigning to a field of a frozen class is an error. When the
program runs, a frozen class is not guarded again: guards are half of what it takes to define one, and make a
constructor three times as slow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, eq: bool = True, order: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """Make a dataclass; a frozen one can be hashed, and is trusted not to be changed."""

        def make(cls: type[T]) -> type[T]:
            hashed = frozen and eq and "__hash__" not in vars(cls)
            return dataclasses.dataclass(slots=slots, eq=eq, order=order, unsafe_hash=hashed)(cls)

        return make


__all__ = ["dataclass"]
