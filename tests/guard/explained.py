"""How many of the known bugs `explain` explains: `python -m tests.guard.explained [PART OF A NAME]`.

`bugs.jsonl` has a row for each program that PyTorch ends with a device error: the functions `bad_…` of the fixtures,
and short programs of our own, one for each rule of PyTorch's. A row says on which line the judge saw it fail (in a
fixture counted from that where the function begins, or what it is `within`, so that others may come and go), and which
values are to blame, as the source spells them: those that the linter names there, and, where it speaks of something
else or is silent, those that a reader of the program named. Of values that are apart either may be moved, so both are
right where no other line tells which.

A bug counts as explained if its finding is on that line, names one of those values, and has the path of the module
that was being called, if any was.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devlint_guard.finding import Finding

from tests.conftest import REPOSITORY
from tests.guard.pretended import Explained, Way, explained
from tests.judge import Judge

BUGS = Path(__file__).with_name("bugs.jsonl")


@dataclass(frozen=True, slots=True)
class Bug:
    """A program that fails.

    Attributes:
        program: `fixtures/some.py::bad_function`, `fixtures/some.py::None` for a file that is the program, or the
            name of a short program whose text is `code`.
        devices: how many CUDA devices it has.
        line: of its text, where it fails.
        operands: the values to blame.
    """

    program: str
    devices: int
    line: int
    operands: tuple[str, ...]
    code: str = ""

    @property
    def file(self) -> Path | None:
        """The file of the program; None for a short one."""
        return None if self.code else REPOSITORY / self.program.partition("::")[0]

    def explain(self, judge: Judge, way: Way = "explain") -> Explained:
        """Runs it."""
        file, name = self.file, self.program.partition("::")[2]
        text = self.code if file is None else file.read_text(encoding="utf-8")
        call = None if name in ("", "None") else name
        return explained(judge, text, file=file, call=call, devices=self.devices, way=way)


@dataclass(frozen=True, slots=True)
class Miss:
    """A bug that is not explained, and in which respect."""

    bug: Bug
    reason: str

    def __str__(self) -> str:
        return f"{self.bug.program} on {self.bug.devices}: {self.reason}"


def read_bugs() -> list[Bug]:
    """All rows."""
    return [_read(json.loads(line)) for line in BUGS.read_text(encoding="utf-8").splitlines()]


def _read(row: dict[str, Any]) -> Bug:
    file, _, function = row["program"].partition("::")
    start = 0 if function in ("", "None") else _definitions(file)[row.get("within", function)]
    return Bug(row["program"], row["devices"], start + row["line"], tuple(row["operands"]), row.get("code", ""))


@functools.cache
def _definitions(file: str) -> dict[str, int]:
    """The lines where the functions and classes of a fixture begin."""
    tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
    return {one.name: one.lineno for one in tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}


def misses(judge: Judge, bugs: Iterable[Bug]) -> Iterator[Miss]:
    """The bugs that are not explained."""
    for bug in bugs:
        outcome = bug.explain(judge)
        reason = _reason(bug, outcome)
        if reason is not None:
            yield Miss(bug, reason)


def _reason(bug: Bug, outcome: Explained) -> str | None:
    finding = outcome.finding
    if finding is None:
        return f"not explained: {outcome.verdict.exception}: {(outcome.verdict.message or '').partition(chr(10))[0]}"
    if bug.line not in _lines(finding):
        return f"line {bug.line} is not told, only {sorted(_lines(finding))}"
    named = _named(finding)
    if not any(_same(name, wanted) for name in named for wanted in bug.operands):
        return f"names {named}, not {list(bug.operands)}"
    return "the path of the module is missing or wrong" if outcome.path is False else None


def _lines(finding: Finding) -> set[int]:
    """The line of the finding, and those of the user's that passed the value on to it."""
    steps = [step.place for operand in finding.operands for step in operand.history]
    return {place.line for place in [finding.place, *steps] if place is not None}


def _named(finding: Finding) -> list[str]:
    """What is blamed first, by each of its names on the way."""
    passed = [step.message.partition("`")[2].rstrip("`") for one in finding.operands for step in one.history]
    return [*(operand.name for operand in finding.operands[:2]), *passed]


def _same(name: str, wanted: str) -> bool:
    """Whether two spellings mean one value; an element stands for its container, `…` for the rest of a long text."""
    mine, theirs = (text.replace('"', "'").replace(" ", "").lstrip("*") for text in (name, wanted))
    if theirs.endswith("…"):
        return mine.startswith(theirs[:-1])
    return mine == theirs or mine.startswith((theirs + "[", theirs + "."))


def main(part: str = "") -> None:
    """Prints the misses and the figure."""
    bugs = [bug for bug in read_bugs() if part in bug.program]
    with Judge() as judge:
        missed = list(misses(judge, bugs))
    for miss in missed:
        print(miss)
    print(f"{len(bugs) - len(missed)} of {len(bugs)} bugs are explained, {1 - len(missed) / len(bugs):.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
