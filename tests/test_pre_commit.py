"""The hooks in `.pre-commit-hooks.yaml`, run by pre-commit itself in a repository of somebody else."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, cannot_run

HELPER = """\
import torch


def on_gpu():
    return torch.zeros(3, device="cuda:0")
"""

MAIN = """\
import torch

from helper import on_gpu

on_gpu() + torch.ones(3)
"""

DISCARDED = """\
import torch


def moved(device: torch.device) -> torch.Tensor:
    x = torch.ones(3)
    x.to(device)
    return x + torch.ones(3, device=device)
"""


class Repository:
    """A git repository in which pre-commit runs the hooks of this checkout."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "PRE_COMMIT_HOME": str(home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "somebody",
            "GIT_AUTHOR_EMAIL": "somebody@example.org",
            "GIT_COMMITTER_NAME": "somebody",
            "GIT_COMMITTER_EMAIL": "somebody@example.org",
        }
        self._environment.pop("PYTHONPATH", None)
        self.git("init", "-q", ".")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, env=self._environment, check=True, capture_output=True)

    def commit(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "all")

    def hook(self, name: str, *files: str) -> tuple[int, str]:
        """Run a hook on files; its exit code and what pre-commit prints."""
        command = [sys.executable, "-m", "pre_commit", "try-repo", str(REPOSITORY), name, "--files", *files]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, encoding="utf-8", check=False
        )
        if "CalledProcessError" in done.stdout + done.stderr:
            cannot_run(f"pre-commit cannot install the hook: {(done.stdout + done.stderr)[-500:]}")
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    if importlib.util.find_spec("pre_commit") is None:
        cannot_run("pre-commit is not installed")
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        cannot_run("pre-commit clones the hook's repository with git")
    made = Repository(tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("home"))
    made.commit({"helper.py": HELPER, "main.py": MAIN})
    return made


def test_a_changed_file_alone_is_judged_with_its_project(repository: Repository) -> None:
    code, text = repository.hook("devlint", "main.py")
    assert code == 1
    assert "error[DEV101]" in text
    assert "helper.py:5:34" in text
    assert "Found 1 error in 2 files." in text


def test_a_changed_file_is_told_what_it_breaks_elsewhere(repository: Repository) -> None:
    """Only the helper has changed, and the report stands in the file that calls it."""
    code, text = repository.hook("devlint", "helper.py")
    assert code == 1
    assert "error[DEV101]" in text
    assert "main.py:5:1" in text
    assert "Found 1 error in 2 files." in text


def test_a_helper_that_no_longer_moves_its_argument_is_told_so(repository: Repository) -> None:
    """No line of the report is in the helper: the move that is missing was there."""
    (repository.folder / "moving.py").write_text("def moved(x):\n    return x.float()\n")
    (repository.folder / "caller.py").write_text(
        'import torch\n\nfrom moving import moved\n\nmoved(torch.ones(3)) + torch.ones(3, device="cuda:0")\n'
    )
    code, text = repository.hook("devlint", "moving.py")
    assert code == 1
    assert "caller.py:5:1" in text


def test_the_other_hook_makes_the_safe_fixes(repository: Repository) -> None:
    """In the environment that is there already, as both hooks come from one repository."""
    (repository.folder / "main.py").write_text(DISCARDED)
    code, _ = repository.hook("devlint-fix", "main.py")
    assert code == 1
    assert (repository.folder / "main.py").read_text() == DISCARDED.replace("    x.to", "    x = x.to")
    assert repository.hook("devlint-fix", "main.py")[0] == 0
