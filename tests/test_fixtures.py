"""Every fixture, linted and run: its comments, devlint and PyTorch must tell the same story.

A test is named after the fixture it is about. The static half needs no torch; the other half asks the judge.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint import engine
from devlint.cli import devlint
from devlint.facts import Reveal
from devlint.settings import Settings

from tests import agreement
from tests.agreement import Execute
from tests.conftest import REPOSITORY, Expect
from tests.expectations import FixtureError, Program, read
from tests.judge import Judge, Verdict

FIXTURES = REPOSITORY / "fixtures"
REVEALS_ONLY = ("flow", "torchlib")
"""Folders whose programs test the analysis alone: no rule runs on them."""

ABOUT_DEVICES = ("DEV1", "DEV2", "DEV3", "DEV4", "DEV5", "DEV9")
"""All rules but those about wording."""

NEVER_RUN = {"torch_geometric_graphs.py": "asks how torch was built, which pretended devices cannot answer"}
"""Programs about libraries that cannot be run on pretended devices."""


def _files() -> list[Path]:
    folders = ("flow", "torchlib", "libraries", "rules", "tutorials", "causes")
    files = [file for folder in folders for file in sorted((FIXTURES / folder).rglob("*.py"))]
    return files + sorted(FIXTURES.glob("projects/*/main.py"))


def _programs() -> Iterator[tuple[Path, str | None]]:
    """The programs of the files that can be read; the static half reports the others."""
    for file in _files():
        with contextlib.suppress(FixtureError):
            yield from ((file, program.name) for program in read(file).programs)


def _reports() -> list[Path]:
    return [
        *sorted(path for path in (FIXTURES / "projects").iterdir() if path.is_dir()),
        FIXTURES / "showcase",
        FIXTURES / "causes",
    ]


def _name(value: object) -> str | None:
    if isinstance(value, Path):
        return value.relative_to(FIXTURES).as_posix()
    return "program" if value is None else None


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
    if file.name in NEVER_RUN:
        pytest.skip(NEVER_RUN[file.name])
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            pytest.importorskip(name.partition(".")[0])


@pytest.fixture(scope="session")
def runs() -> dict[tuple[Path, str | None, int], Verdict]:
    """The verdicts so far; one run serves all tests that ask for it."""
    return {}


@pytest.fixture
def running(judge: Judge, runs: dict[tuple[Path, str | None, int], Verdict]) -> Callable[[Path], Execute]:
    """Runs the programs of a file, each once for each machine."""

    def of(file: Path) -> Execute:
        def execute(program: Program, devices: int) -> Verdict:
            key = (file, program.name, devices)
            if key not in runs:
                runs[key] = judge.run(file=file, call=program.name, devices=devices)
            return runs[key]

        return execute

    return of


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


@pytest.mark.parametrize("file", _files(), ids=_name)
def test_reveals(file: Path) -> None:
    _, found = engine.facts_of(file, Settings((str(file),), isolated=True))
    inferred = {(a.place.line, a.fact.text) for a in found.facts if isinstance(a.fact, Reveal)}
    expected = {(claim.line, claim.text) for claim in read(file).revealed}
    wrong = [f"line {line}: devlint infers {text}, no comment says so" for line, text in inferred - expected]
    wrong += [f"line {line}: devlint does not infer {text}" for line, text in expected - inferred]
    assert not wrong, _listed(wrong)


@pytest.mark.parametrize(("file", "name"), list(_programs()), ids=_name)
def test_program(file: Path, name: str | None, running: Callable[[Path], Execute]) -> None:
    _skip_without_libraries(file)
    fixture = read(file)
    (program,) = [program for program in fixture.programs if program.name == name]
    wrong = agreement.disagreements(fixture, program, running(file))
    assert not wrong, _listed(wrong)


@pytest.mark.parametrize("file", _files(), ids=_name)
def test_nothing_is_claimed_in_vain(file: Path, running: Callable[[Path], Execute]) -> None:
    _skip_without_libraries(file)
    fixture, execute = read(file), running(file)
    assert agreement.uncovered_claims(fixture, execute) == []
    if file.relative_to(FIXTURES).parts[0] in REVEALS_ONLY:
        assert agreement.unreached_reveals(fixture, execute) == []


@pytest.mark.parametrize("folder", _reports(), ids=_name)
def test_report(folder: Path, in_repository: Path, expect: Expect) -> None:
    arguments = ["check", str(folder.relative_to(in_repository)), "--isolated", "--output-format", "full"]
    arguments += ["--select", ",".join(ABOUT_DEVICES)] if folder.name == "causes" else []
    result = CliRunner().invoke(devlint, arguments)
    assert result.exit_code in (0, 1), result.output
    expect(folder / "expected.txt", result.stdout)
