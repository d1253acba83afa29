"""The laws of a domain as one suite: a domain says what it is, the suite says what must hold of it.

An environment, a value or a device is something known; `join` is what is still known where two paths meet. The
order is the join's own: `left` is below `right` when joining it to `right` changes nothing, which is also how a
loop decides that its fixpoint is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


@dataclass(frozen=True)
class Domain(Generic[T]):
    """A domain under test.

    Attributes:
        name: for the test's name.
        samples: one of each kind and the cases that are easy to get wrong.
        generated: any element.
        join: the operation under test.
        content: what two equal elements have in common; the order in which keys or proofs happen to be listed
            is no content.
        longest_chain: how often an element can change by joining others to it.
    """

    name: str
    samples: Sequence[T]
    generated: SearchStrategy[T]
    join: Callable[[T, T], T]
    content: Callable[[T], object]
    longest_chain: int

    def same(self, left: T, right: T) -> bool:
        """Whether two elements say the same."""
        return self.content(left) == self.content(right)

    def leq(self, left: T, right: T) -> bool:
        """Whether `left` adds nothing to `right`."""
        return self.same(self.join(right, left), right)


def check_one(domain: Domain[T], one: T) -> None:
    """An element joined with itself is itself, so it is below itself."""
    assert domain.same(domain.join(one, one), one)


def check_two(domain: Domain[T], one: T, two: T) -> None:
    """The join does not depend on the order of its sides, is above both, and each is below the other only if equal."""
    joined = domain.join(one, two)
    assert domain.same(joined, domain.join(two, one))
    assert domain.leq(one, joined)
    assert domain.leq(two, joined)
    if domain.leq(one, two) and domain.leq(two, one):
        assert domain.same(one, two)


def check_three(domain: Domain[T], one: T, two: T, three: T) -> None:
    """Joins may be grouped at will; the order is transitive; the join is below every other upper bound."""
    grouped = domain.join(domain.join(one, two), three)
    assert domain.same(grouped, domain.join(one, domain.join(two, three)))
    if domain.leq(one, two) and domain.leq(two, three):
        assert domain.leq(one, three)
    if domain.leq(one, three) and domain.leq(two, three):
        assert domain.leq(domain.join(one, two), three)


def check_chain(domain: Domain[T], elements: Sequence[T]) -> None:
    """An element to which others are joined, as a loop does with what its passes leave, soon stops changing."""
    current, changes = elements[0], 0
    for element in elements[1:]:
        joined = domain.join(current, element)
        changes += not domain.same(joined, current)
        assert domain.leq(current, joined)
        current = joined
    assert changes <= domain.longest_chain
    for element in elements:
        assert domain.same(domain.join(current, element), current)
