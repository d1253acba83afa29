"""`python -m tests.robustness.race ROUNDS` races an editor against `change_file`, and counts the saves that are lost.

In each round one process gives a file a new content. When it has written the temporary file and is about to put it in
place, another process saves the same file, at a random moment. Whatever happens first, the save must be what is left.
With `--without-exchange` devlint compares and replaces,
as on a system that cannot exchange names; the share of lost saves then measures the window that remains.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from devlint.errors import OutputError
from devlint.writing import change_file, files

from tests.robustness.saver import MANNERS

_NAME = "m.py"
_TEXT = b"x = 1\n" * 200


class Outcome(NamedTuple):
    """How the rounds ended, and within which time the saves were spread, in seconds."""

    written: int
    refused: int
    lost: int
    spread: float

    @property
    def window(self) -> float:
        """The mean time, in seconds, in which a save is lost."""
        return self.spread * self.lost / (self.written + self.refused)


class _Clock:
    """Numbers that two processes share: the round that may begin, and the one that is over."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 16)

    def set(self, place: int, value: int) -> None:
        struct.pack_into("q", self._shared, place * 8, value)

    def wait(self, place: int, value: int) -> None:
        while struct.unpack_from("q", self._shared, place * 8)[0] < value:
            os.sched_yield()


def race(rounds: int, manner: str, seed: int = 0) -> Outcome:
    """Races in the current folder."""
    clock = _Clock()
    is_waiting, began = False, 0.0

    def notice(event: str, _: object) -> None:
        nonlocal is_waiting, began
        if is_waiting and event == "os.rename":  # the temporary file is whole
            is_waiting, began = False, time.perf_counter()
            clock.set(0, number)

    sys.addaudithook(notice)
    number, times = 0, []
    for turn in range(200):
        Path(_NAME).write_bytes(_TEXT)
        is_waiting = True
        change_file(Path(_NAME), _TEXT, _TEXT + b"# %d\n" % turn)
        times.append(time.perf_counter() - began)
    spread = 2 * sorted(times)[len(times) // 10]
    saver = os.fork()
    if not saver:
        chance = random.Random(seed)
        for number in range(1, rounds + 1):
            clock.wait(0, number)
            until = time.perf_counter() + chance.random() * spread
            while time.perf_counter() < until:
                pass
            MANNERS[manner](_NAME, _TEXT + b"# saved %d\n" % number)
            clock.set(1, number)
        os._exit(0)
    refused = lost = 0
    for number in range(1, rounds + 1):
        before = _TEXT + b"# before %d\n" % number
        Path(_NAME).write_bytes(before)
        is_waiting = True
        try:
            change_file(Path(_NAME), before, _TEXT + b"# fixed\n")
        except OutputError:
            refused += 1
        clock.wait(1, number)
        lost += not Path(_NAME).read_bytes().endswith(b"# saved %d\n" % number)
    os.waitpid(saver, 0)
    return Outcome(rounds - refused, refused, lost, spread)


def main() -> int:
    """Prints a line for each manner; returns 1 if a save is lost although names can be exchanged."""
    parser = argparse.ArgumentParser(prog="python -m tests.robustness.race", description=__doc__)
    parser.add_argument("rounds", type=int, metavar="ROUNDS")
    parser.add_argument("--without-exchange", action="store_true", help="as on a system that cannot exchange names")
    options = parser.parse_args()
    if options.without_exchange:
        patch.multiple(files, exchange=lambda *_: False, is_open_for_writing=lambda _: False).start()
    patch("os.fsync").start()  # most of the time of a change, and outside of the window
    lost = 0
    for manner in MANNERS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found = race(options.rounds, manner)
        lost += found.lost
        print(
            f"{manner:10} {found.written:7} written, {found.refused:7} refused, {found.lost:5} lost; "
            f"saves within {found.spread * 1e6:.0f} µs, the window {found.window * 1e6:.1f} µs",
            flush=True,
        )
    return int(bool(lost) and not options.without_exchange)


if __name__ == "__main__":
    sys.exit(main())
