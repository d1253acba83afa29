"""What `--fix` makes of the fixtures: devlint confirms each fix, and PyTorch runs the result."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from devlint import engine
from devlint.engine import Run
from devlint.settings import Settings

from tests.conftest import REPOSITORY
from tests.expectations import Kind, Program, read
from tests.judge import Judge

FIXTURES = REPOSITORY / "fixtures"
FILES = [file for folder in ("rules", "tutorials", "causes") for file in sorted((FIXTURES / folder).rglob("*.py"))]


def _repaired(file: Path, *, unsafe: bool = False) -> Run:
    run = engine.run(Settings((str(file),), select=("ALL",), isolated=True, fix=True, unsafe_fixes=unsafe))
    assert not run.problems
    return run


def _machines(program: Program) -> set[int]:
    """The machines that the claims of a program speak of."""
    return {program.devices, *(claim.devices for claim in program.errors if claim.devices is not None)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FIXTURES).as_posix())
def test_pytorch_runs_what_safe_fixes_make(file: Path, judge: Judge) -> None:
    """A program then runs, or fails where devlint still reports something; what ran before still runs."""
    run = _repaired(file)
    assert run.warnings == ()
    if not run.changes:
        return
    (text,) = [change.after.decode() for change in run.changes]
    ast.parse(text)
    left = {found.place.line for found in run.outcome.diagnostics}
    broken = []
    for program in read(file).programs:
        for devices in sorted(_machines(program)):
            after = judge.run(text, file=file, devices=devices, call=program.name)
            if after.outcome == "ok":
                continue
            before = judge.run(file=file, devices=devices, call=program.name)
            excused = program.kind is Kind.FALSE_NEGATIVE or left.intersection(after.stack)
            if before.outcome == "ok" or not excused:
                broken.append(f"{program.name} on {devices}: {after.stack} {after.message}")
    assert broken == []
