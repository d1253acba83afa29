"""Plain data compares, hashes and shows itself as that of the standard library does."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import pytest
from devlint.diagnostics import Place
from devlint.records import dataclass


def _classes(make: Callable[..., Callable[[type], type]]) -> dict[str, Any]:
    """The same classes, made by one or the other `dataclass`."""

    @make(frozen=True, slots=True, order=True)
    class Pair:
        """Two numbers, and one that does not count."""

        first: int
        second: int = 0
        note: str = field(default="", compare=False)

    @make(slots=True)
    class Heap:
        """A list that grows."""

        entries: list[int] = field(default_factory=list)
        hidden: int = field(default=3, repr=False)

    @make(frozen=True, slots=True, eq=False)
    class Identity:
        """Only equal to itself."""

        name: str

    @make(frozen=True, slots=True)
    class Own:
        """Brings its own methods."""

        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @make(frozen=True, slots=True)
    class Third(Pair):
        """One more number."""

        third: int = 5

    return {cls.__name__: cls for cls in (Pair, Heap, Identity, Own, Third)}


@pytest.mark.parametrize(
    "asked",
    [
        lambda of: repr(of["Pair"](1, 2, "a")),
        lambda of: repr(of["Heap"]([1])),
        lambda of: repr(of["Own"]("a")),
        lambda of: repr(of["Third"](1)),
        lambda of: [of["Pair"](1, 2, note) == of["Pair"](1, 2, "b") for note in "ab"],
        lambda of: of["Pair"](1, 2) == of["Pair"](1, 3),
        lambda of: of["Pair"](1, 2) == (1, 2),
        lambda of: of["Pair"](1) == of["Third"](1),
        lambda of: of["Third"](1) == of["Third"](1, third=6),
        lambda of: of["Heap"]() == of["Heap"](),
        lambda of: of["Identity"]("a") == of["Identity"]("a"),
        lambda of: of["Own"]("a") == of["Own"]("b"),
        lambda of: len({of["Pair"](1, 2, "a"), of["Pair"](1, 2, "b"), of["Pair"](2)}),
        lambda of: len({of["Identity"]("a"), of["Identity"]("a")}),
        lambda of: hash(of["Own"]("a")),
        lambda of: of["Heap"].__hash__,
        lambda of: [entry.first for entry in sorted(map(of["Pair"], (3, 1, 2)))],
        lambda of: [of["Pair"](1) <= of["Pair"](1), of["Pair"](1) > of["Pair"](2), of["Pair"](1) >= of["Pair"](2)],
        lambda of: repr(replace(of["Pair"](1), second=4)),
        lambda of: of["Pair"].__match_args__,
    ],
)
def test_it_is_as_that_of_the_standard_library(asked: Callable[[dict[str, Any]], object]) -> None:
    ours, theirs = _classes(dataclass), _classes(dataclasses.dataclass)
    expected = asked(theirs)
    assert asked(ours) == expected
    assert asked(ours) == expected, "and once more, with what was written the first time"


def test_the_order_of_other_things_is_not_known() -> None:
    pair = _classes(dataclass)["Pair"]
    with pytest.raises(TypeError):
        assert pair(1) < 2


def test_it_can_be_sent_to_another_process() -> None:
    place = Place("a.py", 1, 2, 3, 4)
    assert pickle.loads(pickle.dumps(place)) == place
