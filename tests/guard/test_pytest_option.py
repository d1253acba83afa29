"""The pytest option, run with real pytest."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from tests.conftest import REPOSITORY
from tests.guard.processes import Ended, forked, python, write

pytest.importorskip("torch")

from devlint_guard.session import Level

TESTS = """\
import unittest

import torch

layer = torch.nn.Linear(3, 3)

def test_fine():
    layer(torch.ones(1, 3))

def test_broken():
    layer(torch.ones(1, 3, device="meta"))

class TestOld(unittest.TestCase):
    def test_failing(self):
        rows = torch.ones(3)
        rows + torch.ones(3, device="meta")
"""


def run(folder: Path, *arguments: str, guard: str = "", configuration: str = "") -> Ended:
    """Runs pytest with this plugin alone; the plugins of all that is installed here take seconds to load."""
    options = ["-p", "devlint_pytest", "-p", "no:cacheprovider", "-c", "none.ini"]
    environment = {"DEVLINT_GUARD": guard, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    write(folder / "none.ini", f"[pytest]\n{configuration}")
    return forked(folder, partial(pytest.main, [*options, *arguments]), ["pytest"], environment)


def test_the_entry_point_names_the_plugin() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert '\n[project.entry-points.pytest11]\ndevlint = "devlint_pytest"\n' in text


@pytest.mark.parametrize("guard", ["", "raise"])
def test_without_the_option_nothing_is_imported(tmp_path: Path, guard: str) -> None:
    write(
        tmp_path / "test_nothing.py",
        """\
        import sys
        def test_nothing():
            assert "devlint_pytest" in sys.modules
            assert not {"torch", "devlint_guard"} & set(sys.modules)
        """,
    )
    arguments = ("-m", "pytest", "-q", "--rootdir", ".", "test_nothing.py")
    ended = python(tmp_path, *arguments, DEVLINT_GUARD=guard)
    assert ended.returncode == 0, ended.stdout


def test_a_mismatch_fails_its_test_and_every_device_error_is_explained(tmp_path: Path) -> None:
    write(tmp_path / "test_layer.py", TESTS)
    ended = run(tmp_path, "--devlint-guard=module", "test_layer.py")
    assert "2 failed, 1 passed" in ended.stdout, ended.stdout
    assert "devlint: DEV602" in ended.stdout
    old = ended.stdout.partition("TestOld.test_failing")[2]
    assert "RuntimeError: Tensor on device" in old
    assert "devlint: DEV602" in old
    assert "test_layer.py:16 in TestOld.test_failing" in old


def test_what_is_recorded_is_listed_at_the_end(tmp_path: Path) -> None:
    write(
        tmp_path / "test_layer.py",
        TESTS.partition("class TestOld")[0]
        .replace("nn.Linear(3, 3)", "nn.Conv2d(3, 3, 1)")
        .replace("1, 3", "1, 3, 2, 2"),
    )
    ended = run(tmp_path, "--devlint-guard", "test_layer.py", guard="record,level=module")
    assert ended.returncode == 1
    assert "2 passed" in ended.stdout, ended.stdout
    summary = ended.stdout.partition("devlint findings")[2]
    assert summary.count("test_layer.py::") == 1
    assert "test_layer.py::test_broken\ndevlint: DEV602" in summary


def test_off_in_the_environment_wins(tmp_path: Path) -> None:
    write(tmp_path / "test_layer.py", TESTS)
    ended = run(tmp_path, "--devlint-guard=deep", "test_layer.py", "-k", "failing", guard="off")
    assert "devlint" not in ended.stdout.partition("FAILURES")[2]


@pytest.mark.parametrize(
    ("option", "guard", "said"),
    [
        ("--devlint-guard=depe", "", "--devlint-guard=module/--devlint-guard=adaptive/--devlint-guard=deep: ignored"),
        ("--devlint-guard=", "", "ignored explicit argument ''"),
        ("--devlint-guard", "rise", "did you mean 'raise'?"),
        ("--devlint-guard", "raise,report=x.json", "leave out report="),
    ],
)
def test_words_that_mean_nothing_are_usage_errors(tmp_path: Path, option: str, guard: str, said: str) -> None:
    ended = run(tmp_path, option, guard=guard)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in ended.stderr


@pytest.mark.parametrize("option", ["--devlint-guard", "--devlint-guard=adaptive"])
def test_a_path_may_follow_the_option(tmp_path: Path, option: str) -> None:
    write(tmp_path / "tests" / "test_layer.py", TESTS)
    write(tmp_path / "test_beside.py", "def test_other(): ...\n")
    ended = run(tmp_path, option, "tests/")
    assert "2 failed, 1 passed" in ended.stdout, ended.stdout
    assert "devlint: DEV602" in ended.stdout


def test_a_path_may_follow_options_of_the_configuration(tmp_path: Path) -> None:
    write(tmp_path / "tests" / "test_layer.py", TESTS)
    write(tmp_path / "test_beside.py", "def test_other(): ...\n")
    ended = run(tmp_path, "tests/", configuration="addopts = --devlint-guard\n")
    assert "2 failed, 1 passed" in ended.stdout, ended.stdout
    assert "devlint: DEV602" in ended.stdout


def test_a_level_stands_behind_an_equals_sign(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "test_layer.py", TESTS)
    ended = run(tmp_path, "--devlint-guard", "deep", "-k", "fine")
    assert "1 passed, 2 deselected" in ended.stdout, ended.stdout


def test_the_help_names_the_levels(tmp_path: Path) -> None:
    names = ("--devlint-guard", *(f"--devlint-guard={level}" for level in get_args(Level)))
    assert f"\n  {', '.join(names)}\n" in run(tmp_path, "--help").stdout


NOTHING = "devlint saw nothing on a GPU, so these tests cannot show a mistake with devices"


@pytest.mark.parametrize("mode", ["raise", "warn", "record"])
def test_tests_that_saw_no_gpu_are_told_of(tmp_path: Path, mode: str) -> None:
    write(tmp_path / "test_layer.py", TESTS)
    ended = run(tmp_path, "--devlint-guard", "test_layer.py", "-k", "fine", guard=mode)
    assert f"{NOTHING}: try `pytest --devlint-rehearse=1`" in ended.stdout
    assert NOTHING not in run(tmp_path, "--devlint-guard", "test_layer.py", guard=mode).stdout
    assert NOTHING not in run(tmp_path, "test_layer.py").stdout
