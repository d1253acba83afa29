"""What the guard says of programs from public questions: `python -m tests.guard.questions FOLDER [PART …]`.

FOLDER holds an `index.jsonl` with a row for each program: where it is (`bug_target`, `main`), how the judge runs it,
which lines cause the error (`cause_lines`), and which values are to blame (`culprit`). For each program and each way to
an explanation, the script prints whether a culprit is named, whether a line of the cause is shown, and how the program
ends once the first change was carried out on a copy of it: `ok` for a program that it mends.

Some programs need packages that the guard's tests do not; those that cannot be imported are named and left out.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from devlint_guard.finding import Change, Finding, Place

from tests.guard.explained import _same
from tests.guard.pretended import Explained, Way, explained
from tests.judge import Judge

WAYS: Final[tuple[Way, ...]] = ("explain", "run")


@dataclass(frozen=True, slots=True)
class Question:
    """A program of a question.

    Attributes:
        row: its row in the index.
        folder: where its files are.
    """

    row: dict[str, Any]
    folder: Path

    def explain(self, judge: Judge, way: Way, folder: Path | None = None) -> Explained:
        """Runs it, or a copy of it in another folder."""
        file = (folder or self.folder) / str(self.row["main"])
        setup = self.row["judge"]
        text = file.read_text(encoding="utf-8")
        return explained(judge, text, file=file, devices=setup["devices"], variant=setup["variant"], way=way)


@dataclass(frozen=True, slots=True)
class Answer:
    """How good an explanation is.

    Attributes:
        operand: a culprit is named.
        cause: a line of the cause is shown.
        mended: how the program ends with the first change carried out; "none" without a change.
    """

    finding: Finding | None
    operand: bool
    cause: bool
    mended: str


def read_questions(folder: Path) -> list[Question]:
    """The programs of an index, in its order."""
    rows = [json.loads(line) for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()]
    return [Question(row, _folder(folder / str(row["bug_target"]))) for row in rows if row["program"]]


def _folder(target: Path) -> Path:
    return target if target.is_dir() else target.parent


def answer(judge: Judge, question: Question, way: Way) -> Answer:
    """Runs a program in a copy of its folder, then once more as the first change makes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "program"
        shutil.copytree(question.folder, folder)
        said = question.explain(judge, way, folder)
        finding = said.finding
        if said.verdict.exception in ("ModuleNotFoundError", "ImportError", "OSError"):
            return Answer(None, operand=False, cause=False, mended=f"cannot run: {said.verdict.message}")
        if finding is None:
            return Answer(None, operand=False, cause=False, mended="none")
        causes = {(file, line) for file, line in question.row["cause_lines"]}
        shown = {(_inside(folder, place.file), line) for place in _places(finding) for line in _lines(place)}
        operand = any(_means(name, culprit) for name in _names(finding) for culprit in question.row["culprit"])
        mended = _mended(judge, question, finding, folder)
        return Answer(finding, operand=operand, cause=bool(causes & shown), mended=mended)


def _means(name: str, culprit: str) -> bool:
    """Whether a name is that of a culprit, or of an expression that it stands in."""
    return _same(name, culprit) or re.search(rf"(?<![\w.]){re.escape(culprit)}(?!\w)", name) is not None


def carry_out(changes: Iterable[Change]) -> None:
    """Exchanges lines of files as changes say, upwards: a line that becomes two moves those below it."""
    for change in sorted(changes, key=lambda one: one.place.line, reverse=True):
        file = Path(change.place.file)
        lines = file.read_text(encoding="utf-8").split("\n")
        assert lines[change.place.line - 1] == change.before
        lines[change.place.line - 1] = change.after
        file.write_text("\n".join(lines), encoding="utf-8")


def _names(finding: Finding) -> Iterator[str]:
    """What the value to move is called, here and on its way."""
    for operand in finding.operands[:1]:
        yield operand.name
        yield from (step.message.partition("`")[2].partition("`")[0] for step in operand.history)


def _places(finding: Finding) -> Iterator[Place]:
    if finding.place is not None:
        yield finding.place
    for operand in finding.operands:
        yield from (place for place in [operand.place, *(step.place for step in operand.history)] if place is not None)
    for change in finding.changes:
        yield change.place


def _lines(place: Place) -> range:
    return range(place.line, max(place.end_line, place.line) + 1)


def _inside(folder: Path, file: str) -> str:
    path = Path(file)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else file


def _mended(judge: Judge, question: Question, finding: Finding, folder: Path) -> str:
    """How a program ends that the first change of a finding was carried out in."""
    if not finding.changes:
        return "none"
    carry_out(finding.changes)
    verdict = question.explain(judge, "explain", folder).verdict
    if verdict.outcome == "ok":
        return "ok"
    return f"{verdict.exception} on line {verdict.line}: {(verdict.message or '').partition(chr(10))[0]}"


def main() -> None:
    """Prints a line for each program, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", help="parts of the names of programs")
    parser.add_argument("-v", action="store_true", dest="verbose", help="print the explanations too")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only programs at even or at odd positions")
    parser.add_argument("--quiet", action="store_true", help="print the figures alone")
    options = parser.parse_args()
    questions = read_questions(options.folder)
    if options.half is not None:
        questions = questions[options.half :: 2]
    if options.parts:
        questions = [one for one in questions if any(part in one.row["id"] for part in options.parts)]
    with Judge() as judge:
        for way in WAYS:
            answers = [(question, answer(judge, question, way)) for question in questions]
            if not options.quiet:
                for question, one in answers:
                    print_answer(way, question, one, verbose=options.verbose)
            print(figures(way, [one for _, one in answers]))


def figures(way: Way, answers: Iterable[Answer]) -> str:
    """How many of the programs that could run were explained."""
    ran = [one for one in answers if not one.mended.startswith("cannot run")]
    operand, cause = sum(one.operand for one in ran), sum(one.cause for one in ran)
    mended = sum(one.mended == "ok" for one in ran)
    return f"{way}: of {len(ran)} programs, operand {operand}, cause {cause}, first change mends {mended}"


def print_answer(way: Way, question: Question, one: Answer, *, verbose: bool) -> None:
    """Prints one line on a program, and on demand its explanation."""
    operand, cause = ("operand" if one.operand else "-"), ("cause" if one.cause else "-")
    print(f"{way:8} {question.row['id']:32} {operand:8} {cause:6} {one.mended}")
    if verbose and one.finding is not None:
        from devlint_guard.report.text import render

        print(render(one.finding) + "\n")


if __name__ == "__main__":
    main()
