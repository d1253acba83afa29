"""`python -m tests.guard.rehearsal.agreement [SOURCE …]`: rehearsals of programs, and the frozen answers on them.

A rehearsal agrees with an answer if it has the same verdict, and for an error the same line, class and first line of
text. The text counts only in the release of torch that wrote it, and the class in those that have `AcceleratorError`. A
right program of which something was not judged is a difference, too. `differences.jsonl` names the programs where the
two differ, each with the reason. The sources are in `cases`, the answers in `answers`. A program without an answer is
left out and counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import torch

from tests.guard.rehearsal.answers import answer, asked, has_text
from tests.guard.rehearsal.cases import SOURCES, Case, Said
from tests.judge import Judge

_DIFFERENCES: Final = Path(__file__).with_name("differences.jsonl")


class Compared(NamedTuple):
    """One program, the answer on it if there is one, and what its rehearsal said, in words and as an answer."""

    case: Case
    answer: Said | None
    said: Said
    rehearsal: Said

    @property
    def agrees(self) -> bool:
        """Whether the rehearsal says what is compared of the answer."""
        compared = len(self.rehearsal) if has_text() else -1 if hasattr(torch, "AcceleratorError") else 2
        return self.answer is not None and self.rehearsal[:compared] == self.answer[:compared]


def read_differences() -> dict[str, str]:
    """Return the reasons of the known differences, by the program's id."""
    rows = map(json.loads, _DIFFERENCES.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row["why"] for row in rows}


def compare(judge: Judge, cases: Iterable[Case]) -> Iterator[Compared]:
    """Rehearse each program."""
    for case in cases:
        said = Said.of(case.run(judge))
        key, rehearsal = asked(case, said)
        yield Compared(case, answer(key), said, rehearsal)


def unexpected(found: Iterable[Compared]) -> list[str]:
    """Return a sentence for each difference that has no reason, and for each reason without a difference."""
    reasons = read_differences()
    return [
        f"{one.case.id}: {reasons.get(one.case.id, 'NOT KNOWN')}\n"
        f"  answer:    {one.answer}\n  rehearsal: {one.rehearsal}\n  in words:  {one.said}"
        for one in found
        if one.answer is not None
        and (one.case.id not in reasons if not one.agrees else one.case.id in reasons and has_text())
    ]


def figures(found: list[Compared]) -> str:
    """Return how often the two agree."""
    answered = [one for one in found if one.answer is not None]
    agreed = sum(one.agrees for one in answered)
    return f"{agreed} of {len(answered)} agree; {len(found) - len(answered)} programs have no answer"


def main() -> int:
    """Return 1 if a difference is not known, or a known one is none any more."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.rehearsal.agreement", description=main.__doc__)
    parser.add_argument("sources", nargs="*", choices=[*SOURCES, []], metavar="SOURCE")
    parser.add_argument("--every", type=int, default=1, help="take each Nth program")
    parser.add_argument("--only", default="", metavar="TEXT", help="take the programs with this in their names")
    options = parser.parse_args()
    wrong: list[str] = []
    with Judge() as judge:
        for source in options.sources or SOURCES:
            cases = [case for case in SOURCES[source]() if options.only in case.id][:: options.every]
            found = list(compare(judge, cases))
            wrong += unexpected(found)
            print(f"{source}: {figures(found)}", flush=True)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
