"""Measures how the work grows with each construct of the language.

Each construct is given to devlint in three sizes, n, 2n and 4n. Work that grows more than in proportion shows in the
ratios. The work is counted in seconds of the processor, or, for a quick and exact measure, in function calls.
"""

from __future__ import annotations

import functools
import itertools
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from devlint.inspector import Batch, FileResult, Inspector, load_tools
from devlint.settings import Configuration, Settings

from tests.robustness.constructs import CONSTRUCTS, Construct

LARGE = 40
"""What grows without a bound is measured in sizes from this on; the others are nested, or double something."""

SMALLEST = 8

FLOOR = 0.25
"""Seconds of work in which a ratio says nothing."""

NOTHING = 0.01
"""Share of the work that is too small to tell of growth."""

LONGEST = 30
"""Seconds of the processor after which a measurement is given up."""

load = functools.cache(load_tools)


class TooLong(BaseException):
    """A measurement that was given up; no handler of devlint's is for it."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The work on three sizes of a construct."""

    name: str
    work: tuple[float, ...]
    problem: str = ""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Return by how much the work grew with each doubling."""
        return tuple(after / max(before, 1e-9) for before, after in zip(self.work, self.work[1:], strict=False))

    @property
    def of_growth(self) -> float:
        """Return by how much more the work grew with the second doubling than with the first: 2 if in proportion.

        What a run needs for the smallest file takes no part in it, so small sizes tell as much as large ones. If the
        first doubling adds no work, as where devlint cuts a longer text, return the growth of all the work instead.
        """
        first, second, third = self.work
        added = second - first
        return (third - second) / added if added > NOTHING * second else third / second


_INSPECTOR = functools.cache(lambda: Inspector(Settings(("-",), select=("ALL",), isolated=True), load))
_NUMBERS = itertools.count()


def check(construct: Construct, text: str) -> FileResult:
    """Return what devlint finds in a text with all rules; each text is another file, of which nothing is known yet."""
    root = Path.cwd()
    path = root / f"{next(_NUMBERS)}{construct.name}"
    (found,) = _INSPECTOR().inspect(Batch(root, Configuration(None, root), (path,)), {path: text.encode()})
    return found


def problem_of(construct: Construct, found: FileResult) -> str:
    """Return what is wrong with a result, "" if nothing is."""
    for one in found.diagnostics:
        if one.code == "DEV903" or (one.code == "DEV901" and construct.reports and "digits" not in one.message):
            return one.message
    codes = {one.code for one in found.diagnostics}
    fine = not construct.reports or not codes.isdisjoint(("DEV101", "DEV901"))
    return "" if fine else "the conflict is not reported"


def seconds(run: Callable[[], FileResult]) -> tuple[float, FileResult]:
    """Return the seconds of the processor that a run takes, and its result."""
    start = time.process_time()
    made = run()
    return time.process_time() - start, made


def calls(run: Callable[[], FileResult]) -> tuple[float, FileResult]:
    """Return how many functions a run calls, the same number each time, and its result."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call" or event == "c_call"

    sys.setprofile(note)
    try:
        made = run()
    finally:
        sys.setprofile(None)
    return count, made


def takes_too_long(growth: Growth) -> bool:
    """Whether seconds grew more than in proportion, at the last doubling and above the floor."""
    return growth.work[-1] > FLOOR and growth.ratios[-1] > CONSTRUCTS[growth.name].most


def grows_too_fast(growth: Growth) -> bool:
    """Whether counted work grew more than in proportion."""
    return growth.of_growth > CONSTRUCTS[growth.name].most


def measure(
    name: str, meter: Callable[[Callable[[], FileResult]], tuple[float, FileResult]], scale: float = 1
) -> Growth:
    """Return the work on three sizes of a construct; `scale` multiplies large sizes."""
    construct = CONSTRUCTS[name]
    work: list[float] = []
    for doubled in (1, 2, 4):
        size = construct.size if construct.size < LARGE else max(int(construct.size * scale), SMALLEST)
        text = construct.make(size * doubled)
        try:
            with _given_up_after(LONGEST):
                done, found = meter(functools.partial(check, construct, text))
        except TooLong:
            return Growth(name, tuple(work), f"{doubled}n took more than {LONGEST} s")
        work.append(done)
        problem = problem_of(construct, found)
        if problem:
            return Growth(name, tuple(work), f"{doubled}n: {problem}")
    return Growth(name, tuple(work))


class _given_up_after:  # noqa: N801
    def __init__(self, limit: int) -> None:
        self._limit = limit

    def __enter__(self) -> None:
        signal.signal(signal.SIGVTALRM, _give_up)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._limit)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TooLong
