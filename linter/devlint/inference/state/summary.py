"""The outcome of a body."""

from __future__ import annotations

from typing import NamedTuple, final

from devlint.inference.state.heap import Heap
from devlint.inference.values.data import Requirement
from devlint.inference.values.terms import BOTTOM, Field, Value


class Effect(NamedTuple):
    """The value of a field of an object after the execution."""

    owner: Value
    field: Field
    value: Value


@final
class Summary:
    """The outcome of a body, in terms of the symbols of its entry.

    Attributes:
        returns: the returned value; BOTTOM if the body never returns.
        effects: the stores into passed objects.
        objects: the new objects that the result or the effects reach.
        requirements: the latent requirements, and those that only a caller breaks.
        kinds: symbols that operations of the body prove to be tensors.
        holds: terms that hold wherever the body returns.
        is_endless: whether the end of a recursion is still unknown.
    """

    __slots__ = ("effects", "holds", "is_endless", "kinds", "objects", "requirements", "returns")

    def __init__(
        self,
        returns: Value = BOTTOM,
        effects: tuple[Effect, ...] = (),
        objects: Heap | None = None,
        requirements: tuple[Requirement, ...] = (),
        kinds: tuple[Value, ...] = (),
        holds: tuple[Value, ...] = (),
        is_endless: bool = False,
    ) -> None:
        self.returns = returns
        self.effects = effects
        self.objects = Heap() if objects is None else objects
        self.requirements = requirements
        self.kinds = kinds
        self.holds = holds
        self.is_endless = is_endless

    def same_as(self, other: Summary) -> bool:
        """Whether two rounds of a recursion have the same outcome."""
        return (
            self.returns is other.returns
            and self.effects == other.effects
            and self.requirements == other.requirements
            and self.holds == other.holds
            and self.objects.same_as(other.objects)
        )
