"""Attributes of torch that stand replaced while a rehearsal runs, so that each can be put back."""

from __future__ import annotations

from typing import Any, Final

_ABSENT: Final = object()


class Replacements:
    """Replaced attributes, in the order in which they were replaced."""

    def __init__(self) -> None:
        self._undone: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute that a module, a class or an object has.

        Raises:
            AttributeError: the owner has no such attribute, so that this release of torch is not understood.
        """
        getattr(owner, name)
        self.add(owner, name, value)

    def add(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute, whether it is there or not."""
        before = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
        self._undone.append((owner, name, before))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Restore the originals, the latest first."""
        while self._undone:
            owner, name, before = self._undone.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
