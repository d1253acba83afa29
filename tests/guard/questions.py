"""How good an explanation of a program is: whether it names a culprit, shows a line of the cause, and mends it.

For the last answer, the first change of the explanation is carried out on a copy of the program, which then runs.
"""

from __future__ import annotations

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
        row: which file it is (`main`), how the judge runs it, which lines cause the error (`cause_lines`), and which
            values are to blame (`culprit`).
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
