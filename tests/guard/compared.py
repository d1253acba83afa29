"""Programs with and without the guard: `python -m tests.guard.compared [--stride N]`.

Every program that fails in the guard's tests runs by itself and with a guard around it, as with `devlint run`. With the
guard, it must end with the same class and text of an error, on the same line, after the same output; the one note on
that error must name a value. The script prints a line for each program that breaks one of these rules, and the figures.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tests.guard.explained import Bug, read_bugs
from tests.guard.pretended import Explained, Way
from tests.judge import Judge

GUARDED: Final[tuple[Way, ...]] = ("run", "record")


@dataclass(frozen=True, slots=True)
class Difference:
    """A program that the guard changes, or that it does not explain.

    Attributes:
        is_worse: the program ends in another way; else the note is missing or names nothing.
    """

    program: str
    way: Way
    reason: str
    is_worse: bool

    def __str__(self) -> str:
        return f"{'WORSE' if self.is_worse else 'poor '} {self.program}, {self.way}: {self.reason}"


def differences(judge: Judge, programs: Iterable[Bug], ways: Iterable[Way] = GUARDED) -> Iterator[Difference]:
    """Runs programs and compares how they end."""
    for one in programs:
        plain = one.explain(judge, "plain")
        if plain.verdict.exception in ("ModuleNotFoundError", "ImportError"):
            continue
        for way in ways:
            guarded = one.explain(judge, way)
            changed = _changed(plain, guarded)
            if changed:
                yield Difference(one.program, way, changed, is_worse=True)
            elif plain.verdict.outcome == "device-error" and (poor := _poor(guarded)):
                yield Difference(one.program, way, poor, is_worse=False)


def _changed(plain: Explained, guarded: Explained) -> str:
    """What the guard has changed; empty for nothing."""
    before, after = plain.verdict, guarded.verdict
    for name in ("exception", "message", "line", "outcome", "stdout"):
        own, other = (_lasting(str(getattr(one, name))) for one in (before, after))
        if own != other:
            return f"{name} {own!r} became {other!r}"
    return ""


def _lasting(text: str) -> str:
    """A text without the parts that differ in each run: folders, times and process numbers of logs, carried frames.

    A message may carry the traceback of another process or thread. The frames in it are those of the guard too, and
    the explanation stands below.
    """
    text = re.sub(r"/tmp/judge_\w+/", "", text)
    text = re.sub(r"(?m)[WIE]\d{4} [\d:.]+ (\d+ )?", "", text)
    if "Traceback (most recent call last)" not in text:
        return text
    lines = text.partition("\ndevlint")[0].splitlines()
    return "\n".join(line for line in lines if not line.startswith(" "))


def _poor(guarded: Explained) -> str:
    """What a note lacks; empty for nothing."""
    notes = [note for note in guarded.notes if note.startswith("devlint")]
    if not notes and "\ndevlint" in (guarded.verdict.message or ""):
        return ""  # of another process or thread, whose error has carried it here
    if len(notes) != 1:
        return f"{len(notes)} notes on {(guarded.verdict.message or '').partition(chr(10))[0]!r}"
    if guarded.finding is None or not any(one.name for one in guarded.finding.operands):
        return f"names nothing: {notes[0].partition(chr(10))[0]}"
    return ""


def main() -> int:
    """Prints the differences and the figures; returns 1 if the guard makes a program end in another way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stride", type=int, default=1, help="one program of so many of the guard's tests")
    options = parser.parse_args()
    programs = read_bugs()[:: options.stride]
    found = []
    with Judge() as judge:
        for one in differences(judge, programs):
            print(one, flush=True)
            found.append(one)
    worse = {one.program for one in found if one.is_worse}
    poor = {one.program for one in found if not one.is_worse}
    print(f"of {len(programs)} programs, {len(worse)} end otherwise with the guard, {len(poor)} have a poor note")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
