"""`python -m tests.ecosystem.known CLONES`: places in public repositories whose verdict is known.

CLONES holds clones of the repositories, as for `python -m tests.recall`. The bugs among the places are to be
reported by the default rules, the legal look-alikes are not; a row that devlint gets wrong says why. Prints a line for
each place and the table; exits with 1 if what devlint does is not what is filed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.ecosystem.__main__ import Reported, lint
from tests.recall.clones import unpack

FILE = Path(__file__).with_name("known_places.jsonl")


class Known(NamedTuple):
    """One place.

    Attributes:
        repo: owner and name on GitHub.
        commit, path, lines: where it is; several lines are one place, and a report on any of them counts.
        bug: whether it is one.
        what: what happens there.
        limit: why devlint is wrong about it; empty if it is right.
    """

    repo: str
    commit: str
    path: str
    lines: tuple[int, ...]
    bug: bool
    what: str
    limit: str = ""


def read_known() -> list[Known]:
    """The filed places; raises TypeError or ValueError for a row that is none."""
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line]
    return [Known(**{**row, "lines": tuple(row["lines"])}) for row in rows]


def verdict(known: Known, found: list[Reported]) -> tuple[bool, str]:
    """Whether devlint is right about a place, in words too."""
    here = [row for row in found if row.line in known.lines and row.path == known.path]
    said = f"{here[0].code} {here[0].message}" if here else "silent"
    return bool(here) == known.bug, said


def main(arguments: list[str]) -> int:
    """Prints place by place and the table; the result is the exit code."""
    clones = Path(arguments[0]).absolute()
    work = Path(tempfile.gettempdir()) / "devlint-known"
    work.mkdir(exist_ok=True)
    right: Counter[bool] = Counter()
    every: Counter[bool] = Counter()
    unexplained = 0
    for known in read_known():
        found, _ = lint(unpack(clones, known.repo, known.commit, work), known.path)
        is_right, said = verdict(known, found)
        every[known.bug] += 1
        right[known.bug] += is_right
        unexplained += is_right != (known.limit == "")
        kind, outcome = "bug" if known.bug else "legal", "right" if is_right else "WRONG"
        print(f"{kind:5} {outcome} {known.repo} {known.path}:{known.lines[0]} {said}", flush=True)
        if known.limit:
            print(f"      {known.limit}")
    for bug, kind in ((True, "bugs reported"), (False, "legal and silent")):
        print(f"{kind}: {right[bug]} of {every[bug]}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
