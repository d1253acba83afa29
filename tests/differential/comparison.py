"""Holds what devlint says of a generated program against what PyTorch does with it."""

from __future__ import annotations

import ast
import functools
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devlint.analysis.program import Program as Analysis
from devlint.diagnostics import Certainty, Diagnostic, Place, Severity
from devlint.frontend.concrete import check
from devlint.project import Project
from devlint.registry import load_rules
from devlint.rule import Rule
from devlint.torchlib import catalogue

from tests.differential.batch import MARK, run_all, run_texts
from tests.differential.mutations import mutant
from tests.differential.program import Program
from tests.judge import Judge, Verdict

REPAIRS = 3
"""So many failing statements of a program are replaced, one by one, to see what comes after them."""

DISCARDED = "DEV203"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """devlint and PyTorch contradict each other, or devlint failed.

    Attributes:
        what: "false-alarm", "miss" or "crash".
        about: the rule's code, the cause of the device error, or the type of the exception.
    """

    what: str
    about: str
    line: int
    message: str
    program: Program

    def __str__(self) -> str:
        lines = self.program.text.splitlines()
        shown = [f"{'>' if n == self.line else ' '} {n:3} {line}" for n, line in enumerate(lines, start=1)]
        title = f"{self.what} {self.about}, program {self.program.name}, {self.program.devices} devices"
        return "\n".join([title, f"  line {self.line}: {self.message}", *shown])


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one program showed.

    Attributes:
        outcome: PyTorch's.
        found: whether a device error is reported on a line that it goes through.
        cause: what PyTorch says of a device error, in short; "" where there is none.
    """

    program: Program
    outcome: str
    found: bool
    cause: str
    disagreements: tuple[Disagreement, ...] = ()


class Comparer:
    """Compares one program after the other.

    Args:
        judge: runs the programs.
        quick: let the rules word what the analysis found only where it lies on a line that PyTorch does not refuse.
            Wording takes most of the time, and where analysis and PyTorch agree there is nothing to word.
    """

    def __init__(self, judge: Judge, *, quick: bool = False) -> None:
        self._judge = judge
        self._quick = quick

    def variants(self, programs: Sequence[Program], *, mutate: bool = False) -> Iterator[Comparison]:
        """Compares programs, and what is left of them when failing statements are replaced.

        With `mutate` also a mutant of each with which PyTorch is content.
        """
        content: list[Program] = []
        for _ in range(REPAIRS + 1):
            verdicts = run_all(self._judge, programs)
            repaired = []
            for program, verdict in zip(programs, verdicts, strict=True):
                yield self._confirmed(program, verdict)
                left = program.repaired(verdict.stack) if verdict.outcome == "device-error" else None
                repaired += [] if left is None else [left]
                content += [program] if verdict.outcome == "ok" else []
            programs = repaired
        mutants = [one for one in map(mutant, content) if one is not None] if mutate else []
        for program, verdict in zip(mutants, run_all(self._judge, mutants), strict=True):
            yield self._confirmed(program, verdict)

    def _confirmed(self, program: Program, verdict: Verdict) -> Comparison:
        """A comparison; a disagreement must stay one when the program runs in a process of its own."""
        found = self.compare(program, verdict)
        return self.compare(program) if found.disagreements else found

    def compare(self, program: Program, verdict: Verdict | None = None) -> Comparison:
        """Compares one program, whose verdict may be known."""
        verdict = verdict or self.run(program, program.text)
        if verdict.outcome not in ("ok", "device-error"):
            return Comparison(program, f"{verdict.outcome} {verdict.message}", False, "")
        cause = cause_of(verdict) if verdict.outcome == "device-error" else ""
        try:
            findings = find(program.text, program.devices)
            if self._quick and all(_covers(place, verdict.stack) for place in findings.places):
                claims, found = [], bool(findings.places)
            else:
                claims = findings.diagnostics()
                found = any(_covers(each.place, verdict.stack) for each in claims)
        except Exception as error:
            crash = Disagreement("crash", type(error).__name__, 1, traceback.format_exc(), program)
            return Comparison(program, verdict.outcome, False, cause, (crash,))
        disagreements = [*self._refuted(program, verdict, claims)]
        if verdict.outcome == "device-error" and not found:
            said = (verdict.message or "").splitlines()[0]
            disagreements.append(Disagreement("miss", cause, verdict.line or verdict.stack[0], said, program))
        return Comparison(program, verdict.outcome, found, cause, tuple(disagreements))

    def run(self, program: Program, text: str) -> Verdict:
        """Runs a text on the program's machine; its output tells what of it was reached."""
        return run_texts(self._judge, [text], program.devices)[0]

    def _refuted(self, program: Program, verdict: Verdict, claims: Sequence[Diagnostic]) -> Iterator[Disagreement]:
        """The claims that a run speaks against: PyTorch executes their line and is content."""
        certain = [each for each in claims if each.certainty is Certainty.CERTAIN]
        for claim in _passed([each for each in certain if each.code != DISCARDED], verdict):
            text, run = program.text, verdict
            while not _covers(claim.place, run.stack) and _is_cut_short(claim.place, text, run.stack):
                text = _without(text, run.stack[-1])
                run = self.run(program, text)
            if _passed([claim], run):
                yield _false_alarm(claim, program)
        idle = [each for each in certain if each.code == DISCARDED]
        if idle and verdict.outcome == "ok":
            yield from self._idle(program, idle)
        promised = [each for each in claims if each.certainty is Certainty.ON_ACCELERATOR]
        yield from self._broken(program, verdict, promised)

    def _broken(self, program: Program, verdict: Verdict, claims: Sequence[Diagnostic]) -> Iterator[Disagreement]:
        """The promises about accelerators that are not kept when everything is on one."""
        inside = [each for each in claims if each.place.line < program.main_line]
        drives = [self.run(program, program.driven(each)) for each in program.definitions] if inside else []
        for claim in claims:
            runs = [verdict, *drives] if claim in inside else [verdict]
            kept = any(_covers(claim.place, run.stack) for run in runs)
            if not kept and any(_passed([claim], run) for run in runs):
                yield _false_alarm(claim, program)

    def _idle(self, program: Program, claims: Sequence[Diagnostic]) -> Iterator[Disagreement]:
        """The discarded moves that would not have moved anything."""
        for claim in claims:
            lines = program.text.splitlines()
            line = lines[claim.place.line - 1]
            call = ast.parse(line.strip()).body[0]
            if not (isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)):
                continue
            if not isinstance(call.value.func, ast.Attribute):
                continue
            receiver = ast.unparse(call.value.func.value)
            indent = line[: len(line) - len(line.lstrip())]
            lines[claim.place.line - 1] = f"{indent}assert ({line.strip()}).device != {receiver}.device"
            if self.run(program, "\n".join(lines) + "\n").exception == "AssertionError":
                yield _false_alarm(claim, program)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the analysis finds in a program.

    Attributes:
        places: where the facts are that a rule for errors wants.
        diagnostics: gives what the rules say of them.
    """

    places: tuple[Place, ...]
    diagnostics: Callable[[], list[Diagnostic]]


def find(text: str, devices: int) -> Findings:
    """Analyses a program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(text, encoding="utf-8")
        project = Project(Path(folder))
        source = project.source(path)
        analysis = Analysis(project, catalogue.load(), devices)
        analysis.report(source)
    facts = analysis.recorder.facts(source.display)
    wanted = tuple({kind for rule in _rules() for kind in rule.wants})
    places = tuple(each.place for each in facts.facts if isinstance(each.fact, wanted))
    return Findings(places, lambda: check(source.text, source.display, facts, _rules()))


@functools.cache
def _rules() -> tuple[type[Rule], ...]:
    return tuple(rule for rule in load_rules() if rule.severity is Severity.ERROR)


def _passed(claims: Sequence[Diagnostic], run: Verdict) -> list[Diagnostic]:
    """The claims whose expression was executed to its end: not in a branch, an arm or a lambda that was left out."""
    if run.outcome not in ("ok", "device-error"):
        return []
    reached = [tuple(map(int, each.split())) for each in re.findall(rf"^{MARK} (.+)$", run.stdout, re.MULTILINE)]
    return [
        each
        for each in claims
        if any(_holds(each.place, *one) for one in reached) and not _covers(each.place, run.stack)
    ]


def _is_cut_short(place: Place, text: str, stack: Sequence[int]) -> bool:
    """Whether a line is in a loop with the refused one, which may end it before the turn for which it is reported."""
    loops = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.For, ast.While))]
    spans = [range(loop.lineno, (loop.end_lineno or 0) + 1) for loop in loops]
    return any(place.line in span and line in span for span in spans for line in stack)


def _without(text: str, line: int) -> str:
    """A program that does nothing on one line."""
    lines = text.splitlines()
    indent = re.match(" *", lines[line - 1])
    assert indent is not None
    lines[line - 1] = f"{indent.group()}pass"
    return "\n".join(lines) + "\n"


def _holds(place: Place, line: int, column: int, end_line: int, end_column: int) -> bool:
    """Whether a stretch of the program is within a place."""
    return (place.line, place.column) <= (line, column) and (end_line, end_column) <= (place.end_line, place.end_column)


def _covers(place: Place, lines: Sequence[int]) -> bool:
    return any(place.line <= line <= place.end_line for line in lines)


def cause_of(verdict: Verdict) -> str:
    """What kind of operation PyTorch refuses, by its message."""
    message = verdict.message or ""
    strict = re.search(r"method wrapper_CUDA_\w+", message)
    if verdict.kind != "mixed":
        return verdict.kind or ""
    if strict is not None:
        return "mixed, strict operator"
    if "indices should be" in message:
        return "mixed, index"
    return "mixed, elementwise" if "at least two devices" in message else "mixed, own check"


def _false_alarm(claim: Diagnostic, program: Program) -> Disagreement:
    said = f"{claim.certainty.value}: {claim.message}"
    return Disagreement("false-alarm", claim.code, claim.place.line, said, program)
