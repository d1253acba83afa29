"""The walk from a clone to a first rule, done in a copy of the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import REPOSITORY, cannot_run
from tests.pages import read

RULE = "rules/devlint_rules/mask_on_cpu.py"
FIXTURE = "fixtures/rules/mask_on_cpu/masks.py"
PACKAGES = ("linter", "rules", "runtime_guard")


def _walk() -> str:
    return read("CONTRIBUTING.md").partition("## Your first rule")[2].partition("\n## ")[0]


def _blocks(language: str) -> list[str]:
    """The blocks of the walk in a language."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", _walk(), flags=re.MULTILINE | re.DOTALL)
    return [dedent(text) for text in found]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of what git knows, in which the walk has written its three files."""
    pytest.importorskip("torch")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, encoding="utf-8", check=False)
    if listed.returncode:
        cannot_run("the tests are not in a git repository")
    files = [name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()]
    assert {RULE, FIXTURE} & set(files) == set()
    program, rule, fixture = _blocks("python")
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    for name, text in {"try_it.py": program, RULE: rule, FIXTURE: fixture}.items():
        assert name == "try_it.py" or f"`{name}`" in _walk()
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _run(command: str, folder: Path, codes: tuple[int, ...]) -> str:
    """Run a command of the walk with the packages of the copy in place of the installed ones."""
    path = os.pathsep.join(str(folder / package) for package in PACKAGES)
    program = command.replace(".venv-test/bin/", f"{sys.executable} -m ")
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        ["bash", "-c", program], cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


def test_the_walk_ends_with_a_rule_that_works(clone: Path) -> None:
    commands = re.findall(r"^\$ (.*)$", "".join(_blocks("console")), flags=re.MULTILINE)
    facts, tests, check = commands
    facts_shown, _, report_shown = (block.splitlines()[1:] for block in _blocks("console"))

    assert [line for line in facts_shown if line not in _run(facts, clone, (0,)).splitlines()] == []
    assert "passed" in _run(tests, clone, (0,))
    assert _run(check, clone, (1,)).splitlines() == report_shown
    assert "| DEV599 | mask-on-cpu |" in (clone / "rules" / "README.md").read_text(encoding="utf-8")
