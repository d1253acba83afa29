"""What a run of the product imports, and what it leaves unimported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import REPOSITORY
from tests.test_architecture import ROOTS, within

LISTING = """\
import atexit, json, runpy, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=open({listing!r}, "w")))
"""

LINTED = """\
import pathlib

import torch

import neighbour

pathlib.Path({mark!r}).write_text("imported")
x = torch.zeros(3) + torch.zeros(3, device="cuda:0")
"""


class Ended(NamedTuple):
    """A finished process: its exit code, its output, and the modules it had imported at its end."""

    code: int
    output: str
    modules: frozenset[str]

    def has(self, package: str) -> bool:
        """Whether the package or anything in it was imported."""
        return any(within(name, package) for name in self.modules)


def _end_of(folder: Path, program: str, *arguments: str, first: str = "") -> Ended:
    """Runs a program that ends by listing what it has imported; `first` is a folder to import from before others."""
    listing = folder / "modules.json"
    whole = LISTING.format(listing=str(listing)) + program
    folders = (first, *(str(REPOSITORY / root) for root in ROOTS), *sys.path)
    path = os.pathsep.join(entry for entry in folders if entry)
    done = subprocess.run(
        [sys.executable, "-c", whole, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return Ended(done.returncode, done.stdout, frozenset(json.loads(listing.read_text())))


DEVLINT = 'runpy.run_module("devlint", run_name="__main__")\n'


def test_the_version_is_printed_without_parser_analysis_or_torch(tmp_path: Path) -> None:
    ended = _end_of(tmp_path, DEVLINT, "--version")
    assert (ended.code, ended.output.split()[0]) == (0, "devlint")
    assert ended.has("click")
    for package in ("libcst", "torch", "devlint.analysis", "devlint_rules", "devlint_guard"):
        assert not ended.has(package), package


def test_files_without_torch_are_checked_without_parser_analysis_or_rules(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    ended = _end_of(tmp_path, DEVLINT, "check", "--isolated", ".")
    assert ended.code == 0, ended.output
    for package in ("libcst", "multiprocessing", "devlint.analysis", "devlint_rules"):
        assert not ended.has(package), package


def test_files_in_which_no_rule_has_anything_to_look_at_are_checked_without_parser_or_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVLINT_CACHE_DIR", str(tmp_path / "cache"))
    for number in (1, 2):
        (tmp_path / "fine.py").write_text(f"import torch\n\nx = torch.ones(3) + {number}\n")
        ended = _end_of(tmp_path, DEVLINT, "check", "--isolated", "fine.py")
        assert ended.code == 0, ended.output
    assert ended.has("devlint.analysis")
    for package in ("libcst", "devlint_rules"):
        assert not ended.has(package), package


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_checking_never_imports_torch_or_the_program(tmp_path: Path, jobs: str) -> None:
    """Worker processes list nothing at their end, so a torch and a numpy stand ready that would leave a mark."""
    mark, decoys, project = tmp_path / "imported", tmp_path / "decoys", tmp_path / "project"
    decoys.mkdir()
    project.mkdir()
    for name in ("torch", "numpy"):
        (decoys / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').write('{name}')\n")
    for name in ("program", "neighbour"):
        (project / f"{name}.py").write_text(LINTED.format(mark=str(mark)))
    options = ("--isolated", "--select", "DEV101", "--jobs", jobs)
    ended = _end_of(project, DEVLINT, "check", *options, ".", first=str(decoys))
    assert ended.code == 1, ended.output
    assert ended.output.count("DEV101") == 2
    assert not mark.exists(), mark.read_text()
    for package in ("torch", "numpy", "program", "neighbour", "devlint_guard"):
        assert not ended.has(package), package


def test_a_decoy_would_leave_its_mark(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').write('torch')\n")
    ended = _end_of(tmp_path, "import torch\n", first=str(tmp_path))
    assert ended.code == 0, ended.output
    assert (tmp_path / "mark").read_text() == "torch"


def test_the_program_would_leave_its_mark(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "neighbour.py").write_text("")
    (tmp_path / "torch.py").write_text("class zeros:\n    def __init__(self, *_, **__): ...\n    __add__ = print\n")
    (tmp_path / "program.py").write_text(LINTED.format(mark=str(mark)))
    ended = _end_of(tmp_path, f"sys.path.insert(0, {str(tmp_path)!r})\nimport program\n")
    assert ended.code == 0, ended.output
    assert mark.read_text() == "imported"
    assert ended.has("program")
    assert ended.has("torch")


def test_the_guard_imports_nothing_of_the_linter(tmp_path: Path) -> None:
    ended = _end_of(tmp_path, "import devlint_guard\n")
    assert ended.code == 0, ended.output
    assert ended.has("devlint_guard")
    for package in ("libcst", "click", "devlint", "devlint_rules"):
        assert not ended.has(package), package
