"""The objects that a call has made: each is copied to the caller when somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from devlint.inference.calls.substitution import Substitution
from devlint.inference.state.heap import Copied, Fields, Heap, parts
from devlint.inference.values.objects import Instance
from devlint.inference.values.terms import Value


@final
class Copies:
    """The objects of one call.

    Args:
        objects: of the summary, in its terms.
        puts_in: the caller's values at the call.
    """

    __slots__ = ("_made", "_objects", "_puts_in")

    def __init__(self, objects: Heap, puts_in: Substitution) -> None:
        self._objects = objects
        self._puts_in = puts_in
        self._made: dict[Value, tuple[Value, Copy]] = {}

    def of(self, values: Iterable[Value]) -> tuple[tuple[Value, Copied], ...]:
        """Return the objects that values of the summary lead to, in terms of the caller."""
        found: dict[Value, None] = {}
        waiting, seen = list(values), set()
        while waiting:
            value = waiting.pop()
            if value.is_fixed or value in seen:
                continue
            seen.add(value)
            if isinstance(value, Instance):
                found[value] = None
            else:
                waiting.extend(parts(value))
        return tuple([self._copy(each) for each in found if self._objects.has(each)])

    def look_at_all(self, made: Iterable[tuple[Value, Copied]]) -> None:
        """Compute the fields of objects, and of all objects that these lead to."""
        waiting, seen = list(made), set()
        while waiting:
            owner, copied = waiting.pop()
            if owner not in seen:
                seen.add(owner)
                waiting.extend(copied.look()[1])

    def _copy(self, owner: Value) -> tuple[Value, Copied]:
        made = self._made.get(owner)
        if made is None:
            if not self._puts_in.is_frozen:
                self._puts_in = self._puts_in.frozen()
            made = self._made[owner] = (self._puts_in.value(owner), Copy(self, owner))
        return made

    def fields(self, owner: Value) -> Fields:
        """Return the fields of an object of the summary in terms of the caller."""
        return {field: self._puts_in.value(held) for field, held in self._objects.fields(owner).items()}

    def held(self, owner: Value) -> Iterable[Value]:
        """Return the values of the fields of an object of the summary."""
        return self._objects.fields(owner).values()


@final
class Copy(Copied):
    """One object of a call."""

    __slots__ = ("_copies", "_found", "_owner")

    def __init__(self, copies: Copies, owner: Value) -> None:
        super().__init__(copies)
        self._copies = copies
        self._owner = owner
        self._found: tuple[Fields, tuple[tuple[Value, Copied], ...]] | None = None

    def look(self) -> tuple[Fields, tuple[tuple[Value, Copied], ...]]:
        """See `Copied`."""
        if self._found is None:
            reached = self._copies.of(self._copies.held(self._owner))
            self._found = self._copies.fields(self._owner), reached
        return self._found
