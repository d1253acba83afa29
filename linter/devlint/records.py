"""`dataclass`, quick to define and to make: a run defines some hundred of them, and makes values by the million.

To a type checker it is `dataclasses.dataclass`, so that assigning to a field of a frozen class is an error. When the
program runs, there are two differences. A frozen class is not guarded again: guards take half of the time to define
one, and make a constructor three times as slow. And what compares, hashes and shows objects is written when it is first
called, which for most classes is never.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

_NONE = {"init": False, "repr": False, "eq": False, "match_args": False}
_WRITTEN_BY = {
    "__repr__": {"repr": True},
    "__eq__": {"eq": True},
    "__hash__": {"unsafe_hash": True},
    **{name: {"eq": True, "order": True} for name in ("__lt__", "__le__", "__gt__", "__ge__")},
}
"""What `dataclasses` has to be asked for to write a method."""

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, eq: bool = True, order: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """Make a dataclass; a frozen one can be hashed, and is trusted not to be changed."""
        names = ["__repr__", *(["__eq__"] if eq else []), *(["__hash__"] if frozen and eq else [])]
        names += ["__lt__", "__le__", "__gt__", "__ge__"] if order else []

        def make(cls: type[T]) -> type[T]:
            own = vars(cls)
            made = dataclasses.dataclass(slots=slots, eq=False, repr=False)(cls)
            if eq and not frozen and "__hash__" not in own:
                made.__hash__ = None
            for name in names:
                if name not in own:
                    setattr(made, name, _later(made, name))
            return made

        return make


def _later(cls: type[Any], name: str) -> Callable[..., object]:
    """A method that puts the one that it stands for in its own place, and calls it."""

    def method(self: object, *others: object) -> object:
        alike = [
            (field.name, object, dataclasses.field(repr=field.repr, compare=field.compare, hash=field.hash))
            for field in dataclasses.fields(cls)
        ]
        options: Any = {**_NONE, **_WRITTEN_BY[name]}
        written = getattr(dataclasses.make_dataclass(cls.__name__, alike, namespace={"__doc__": name}, **options), name)
        setattr(cls, name, written)
        return written(self, *others)

    return method


__all__ = ["dataclass"]
