"""`python -m tests.guard.rehearsal.agreement [SOURCE …]`: programs under the rehearsal and under PyTorch.

A rehearsal agrees with PyTorch on pretended devices if it has the same verdict, and for an error the same line, class
and first line of text. A right program of which something was not judged is a difference, too. `differences.jsonl`
names the programs where the two differ, each with the reason. The sources are in `cases`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import torch

from tests.guard.rehearsal.answers import asked
from tests.guard.rehearsal.cases import SOURCES, Case, Said
from tests.judge import Judge

_DIFFERENCES: Final = Path(__file__).with_name("differences.jsonl")


class Compared(NamedTuple):
    """One program, and the two verdicts on it."""

    case: Case
    pytorch: Said
    rehearsal: Said

    @property
    def is_alarm(self) -> bool:
        """Whether the rehearsal ends a program that PyTorch lets run."""
        return self.pytorch.verdict == "ok" and self.rehearsal.verdict not in ("ok", "not judged")


def read_differences() -> dict[str, str]:
    """Return the reasons of the known differences, by the program's id."""
    rows = map(json.loads, _DIFFERENCES.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row["why"] for row in rows}


def compare(cases: Iterable[Case]) -> Iterator[Compared]:
    """Run each program under the rehearsal, and under the judge where PyTorch's verdict was not kept."""
    with Judge() as rehearsal, Judge(is_pretended=True) as pretended:
        for case in cases:
            judged = case.judged or case.run(pretended)
            yield Compared(case, Said.of(judged), Said.of(case.run(rehearsal)))


def unexpected(found: Iterable[Compared]) -> list[str]:
    """Return a sentence for each difference that has no reason, and for each reason without a difference."""
    reasons = read_differences()
    return [
        f"{one.case.id}: {reasons.get(one.case.id, 'NOT KNOWN')}\n{_both(one)}"
        for one in found
        if (one.pytorch == one.rehearsal) == (one.case.id in reasons)
    ]


def _both(one: Compared) -> str:
    return "\n".join(
        f"  {who + ':':10} {said.verdict} in line {said.line}: {said.text}"
        for who, said in (("PyTorch", one.pytorch), ("rehearsal", one.rehearsal))
    )


def figures(found: list[Compared]) -> str:
    """Return how often the two agree."""
    placed = sum(one.pytorch[:2] == one.rehearsal[:2] for one in found)
    worded = sum(one.pytorch == one.rehearsal for one in found)
    alarms = sum(one.is_alarm for one in found)
    return (
        f"{placed} of {len(found)} have the same verdict and line ({placed / len(found):.1%}), "
        f"{worded} the same class and text too ({worded / len(found):.1%}), {alarms} right programs fail"
    )


def freeze(file: Path) -> None:
    """Write the answers of the judge, or those of a rehearsal where the judge differs from a real GPU."""
    reasons = read_differences()
    answers: dict[str, tuple[str, Said]] = {}
    for source, cases in SOURCES.items():
        for one in compare(cases()):
            key, judged = asked(one.case, one.pytorch)
            _, rehearsed = asked(one.case, one.rehearsal)
            if reasons.get(one.case.id, "").startswith(("the judge", "the kept verdict")):
                judged = rehearsed
            if key in answers and answers[key][1] != judged:
                print(f"{answers[key]} and {one.case.id}: {judged}")
            elif judged != rehearsed:
                print(f"differs: {one.case.id}: {one.pytorch} {one.rehearsal}", flush=True)
            answers.setdefault(key, (one.case.id, judged))
            if "/" in (one.pytorch.text or ""):
                print(one.case.id, one.pytorch, flush=True)
        print(source, len(answers), flush=True)
    head = {
        "made": datetime.date.today().isoformat(),
        "torch": torch.__version__.partition("+")[0],
        "python": platform.python_version(),
        "machine": "the CUDA devices that tests/judge/pretended of commit d7dd908a pretends",
        "command": "python -m tests.guard.rehearsal.agreement --freeze tests/guard/rehearsal/answers.jsonl",
    }
    rows = [[key] if said.verdict == "ok" else [key, *said] for key, (_, said) in sorted(answers.items())]
    file.write_text("".join(json.dumps(row) + "\n" for row in [head, *rows]), encoding="utf-8")


def main() -> int:
    """Return 1 if a difference is not known, or a known one is none any more."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.rehearsal.agreement", description=main.__doc__)
    parser.add_argument("sources", nargs="*", choices=[*SOURCES, []], metavar="SOURCE")
    parser.add_argument("--every", type=int, default=1, help="take each Nth program")
    parser.add_argument("--only", default="", metavar="TEXT", help="take the programs with this in their names")
    parser.add_argument("--freeze", type=Path)
    options = parser.parse_args()
    if options.freeze:
        freeze(options.freeze)
        return 0
    wrong: list[str] = []
    for source in options.sources or SOURCES:
        cases = [case for case in SOURCES[source]() if options.only in case.id][:: options.every]
        if not cases:
            continue
        found = list(compare(cases))
        wrong += unexpected(found)
        print(f"{source}: {figures(found)}", flush=True)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
