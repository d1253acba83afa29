"""What `--fix` makes of the fixtures: devlint confirms each fix, and PyTorch runs the result."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from devlint import engine
from devlint.engine import Run
from devlint.settings import Settings

from tests.conftest import REPOSITORY, sampled
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


@pytest.mark.parametrize("file", sampled(FILES, 12), ids=lambda file: file.relative_to(FIXTURES).as_posix())
def test_pytorch_runs_what_safe_fixes_make(file: Path, judge: Judge, tmp_path: Path) -> None:
    """A program then runs, or fails where devlint still reports something; what ran before still runs."""
    run = _repaired(file)
    assert run.warnings == ()
    if not run.changes:
        return
    (text,) = [change.after.decode() for change in run.changes]
    ast.parse(text)
    fixed = tmp_path / file.name
    fixed.write_text(text, encoding="utf-8")
    fixture = read(fixed)
    left = {found.place.line for found in run.outcome.diagnostics}
    broken = []
    for program in fixture.programs:
        own = range(program.line, program.end_line + 1)
        for devices in sorted(_machines(program)):
            after = judge.run(text, file=file, devices=devices, call=program.name)
            if after.outcome == "ok":
                continue
            before = judge.run(file=file, devices=devices, call=program.name)
            told = any(line in own or any(fixture.together(line, at) for at in after.stack) for line in left)
            if before.outcome == "ok" or not (told or program.kind is Kind.FALSE_NEGATIVE):
                broken.append(f"{program.name} on {devices}: {after.stack} {after.message}")
    assert broken == []
