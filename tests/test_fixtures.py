"""Every fixture, linted and run: its comments, devlint and PyTorch must tell the same story.

A test is named after the fixture file it is about. The static half needs no torch; the other half asks the judge.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint import engine
from devlint.cli import devlint
from devlint.facts import Reveal
from devlint.settings import Settings

from tests import agreement
from tests.conftest import REPOSITORY, Expect
from tests.expectations import Program, read
from tests.judge import Judge, Verdict

FIXTURES = REPOSITORY / "fixtures"
REVEALS_ONLY = ("flow", "torchlib")
"""Folders whose programs test the analysis alone: no rule runs on them."""

ABOUT_DEVICES = ("DEV1", "DEV2", "DEV3", "DEV4", "DEV5", "DEV9")
"""All rules but those about wording."""


def _files() -> list[Path]:
    folders = ("flow", "torchlib", "libraries", "rules", "tutorials", "causes")
    files = [file for folder in folders for file in sorted((FIXTURES / folder).rglob("*.py"))]
    return files + sorted(FIXTURES.glob("projects/*/main.py"))


def _reports() -> list[Path]:
    return [
        *sorted(path for path in (FIXTURES / "projects").iterdir() if path.is_dir()),
        FIXTURES / "showcase",
        FIXTURES / "causes",
    ]


def _name(path: Path) -> str:
    return path.relative_to(FIXTURES).as_posix()


def _listed(sentences: list[str]) -> str:
    """The sentences by the line that they begin with, one below the other."""
    return "\n".join(["", *sorted(sentences, key=lambda text: [int(n) for n in re.findall(r"^line (\d+)", text)])])


def _rules_for(file: Path) -> tuple[str, ...] | None:
    """The rule that a folder is about; elsewhere those that are on by default.

    All about what PyTorch does for the causes, and for the folders about comments, which other rules' reports judge.
    """
    folder, inner = file.relative_to(FIXTURES).parts[:2]
    if folder == "libraries":
        return ("DEV1",)
    if folder == "causes" or inner in ("unused_suppression", "suppression_without_reason"):
        return ABOUT_DEVICES
    return (inner.replace("_", "-"),) if folder == "rules" else None


def _skip_without_libraries(file: Path) -> None:
    """Skips what cannot be run here: programs about libraries that the project does not depend on."""
    if file.relative_to(FIXTURES).parts[0] != "libraries":
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            pytest.importorskip(name.partition(".")[0])


@pytest.mark.parametrize("file", _files(), ids=_name)
def test_diagnostics(file: Path) -> None:
    fixture = read(file)
    if file.relative_to(FIXTURES).parts[0] in REVEALS_ONLY:
        assert not fixture.errors, "no rule runs on this folder"
        return
    run = engine.run(Settings((str(file),), select=_rules_for(file), isolated=True))
    assert not run.problems
    wrong = agreement.surprises(fixture, run.outcome.diagnostics)
    assert not wrong, _listed(wrong)


# Without the word, a file has neither a call of `reveal_device` nor a claim.
@pytest.mark.parametrize("file", [file for file in _files() if "reveal" in file.read_text("utf-8")], ids=_name)
def test_reveals(file: Path) -> None:
    _, found = engine.facts_of(file, Settings((str(file),), isolated=True))
    inferred = {(a.place.line, a.fact.text) for a in found.facts if isinstance(a.fact, Reveal)}
    expected = {(claim.line, claim.text) for claim in read(file).revealed}
    wrong = [f"line {line}: devlint infers {text}, no comment says so" for line, text in inferred - expected]
    wrong += [f"line {line}: devlint does not infer {text}" for line, text in expected - inferred]
    assert not wrong, _listed(wrong)


@pytest.mark.parametrize("file", _files(), ids=_name)
def test_programs(file: Path, judge: Judge) -> None:
    """PyTorch does with each program what the comments say, and nothing is claimed that no run bears out."""
    _skip_without_libraries(file)
    fixture = read(file)

    @cache
    def execute(program: Program, devices: int) -> Verdict:
        return judge.run(file=file, call=program.name, devices=devices)

    wrong = [
        f"{sentence} ({program.name})"
        for program in fixture.programs
        for sentence in agreement.disagreements(fixture, program, execute)
    ]
    vain = agreement.uncovered_claims(fixture, execute)
    if file.relative_to(FIXTURES).parts[0] in REVEALS_ONLY:
        vain += agreement.unreached_reveals(fixture, execute)
    assert not wrong + vain, _listed(wrong) + _listed(vain)


@pytest.mark.parametrize("folder", _reports(), ids=_name)
def test_report(folder: Path, in_repository: Path, expect: Expect) -> None:
    arguments = ["check", str(folder.relative_to(in_repository)), "--isolated", "--output-format", "full"]
    arguments += ["--select", ",".join(ABOUT_DEVICES)] if folder.name == "causes" else []
    result = CliRunner().invoke(devlint, arguments)
    assert result.exit_code in (0, 1), result.output
    expect(folder / "expected.txt", result.stdout)
