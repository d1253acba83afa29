"""No failure of the code that explains an error reaches the program; see `tests.guard.faults`."""

from __future__ import annotations

import json
import tempfile
import types
from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("torch")

from devlint_guard.program import undisturbed
from devlint_guard.program.frames import is_user_code
from devlint_guard.session import Guard

from tests.guard import faults
from tests.guard.fault_programs import PROGRAMS
from tests.guard.faults import READ, end_of, failing, write_programs
from tests.guard.processes import forked

FINDING_USERS_CODE = cast(types.FunctionType, is_user_code)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_programs(tmp_path_factory.mktemp("failing"))


@pytest.mark.parametrize("arguments", [[], pytest.param(["--all"], marks=pytest.mark.long)], ids=["some", "all"])
def test_the_program_ends_with_its_own_error_whatever_fails_in_explaining_it(
    tmp_path: Path, arguments: list[str]
) -> None:
    ended = forked(tmp_path, faults.main, ["faults", *arguments], {})
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_each_function_that_explains_fails_in_a_program() -> None:
    """The long run compares the file with what the programs run."""
    stored = json.loads(faults.COVERAGE.read_text(encoding="utf-8"))
    assert faults.not_covered(stored) == []
    assert set(stored.values()) <= PROGRAMS.keys()
    known = faults.explaining()
    assert all(any(f"{name}.".startswith(f"{one}.") for name in known) for one in faults.NEVER_WHILE_EXPLAINING)


def test_a_function_without_a_program_is_told() -> None:
    stored = json.loads(faults.COVERAGE.read_text(encoding="utf-8"))
    del stored["findings.explanation._finding"]
    assert faults.not_covered([*stored, "report.record.added", "findings.explanation.gone"]) == [
        "findings.explanation._finding runs in no program of `fault_programs`",
        "report.record.added runs in a program, and is said not to",
        "findings.explanation.gone is no function that explains",
    ]


def test_a_failed_explanation_is_told_in_one_line(files: dict[str, Path]) -> None:
    with failing([READ], "ZeroDivisionError"):
        error, lines = end_of(files["attribute"], lambda: Guard(mode="record", level="module"))
    assert type(error) is RuntimeError
    assert lines == [f"{undisturbed.FAILED}, which is a bug of devlint: ZeroDivisionError: this function fails"]


def _end_without_the_users_line() -> int:
    with tempfile.TemporaryDirectory() as folder, failing([FINDING_USERS_CODE], "ZeroDivisionError"):
        error, lines = end_of(write_programs(Path(folder))["attribute"], Guard)
    print(type(error).__name__, *lines, sep="\n")
    return 0


def test_a_guard_that_cannot_find_the_users_line_steps_back(tmp_path: Path) -> None:
    said = forked(tmp_path, _end_without_the_users_line, ["faults"], {}).stdout.splitlines()
    assert said == [
        "RuntimeError",
        f"{undisturbed.FAILED}, which is a bug of devlint: ZeroDivisionError: this function fails",
        "the guard stops looking, this is a bug of devlint: ZeroDivisionError: this function fails",
    ]


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit"])
def test_an_interruption_is_not_held_back(files: dict[str, Path], kind: str) -> None:
    with failing([READ], kind), pytest.raises((KeyboardInterrupt, SystemExit)) as caught:
        end_of(files["attribute"], None)
    assert type(caught.value).__name__ == kind
