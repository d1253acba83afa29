"""`--diff-base` and `--whole-project` with the real analysis: a change that breaks something never has "no mistake"."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

from tests.cli.git import commit, git

MOVED = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 3).to(device)
x = torch.ones(2, 3)
x = x.to(device)
y = x.new_zeros(3)
net(x)
"""

HELPER = """\
import torch


def prepare(x):
    return x.to("cuda" if torch.cuda.is_available() else "cpu")
"""

BROKEN_HELPER = HELPER.replace('x.to("cuda" if torch.cuda.is_available() else "cpu")', "x.float()")

CALLER = """\
import torch

from utils import prepare

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 3).to(device)
net(prepare(torch.ones(2, 3)))
"""


def _reports(*arguments: str) -> list[str]:
    """The reports, as `file:line:column: CODE`."""
    command = ["check", "--output-format", "concise", "-q", *arguments]
    return [line.partition(" [")[0] for line in CliRunner().invoke(devlint, command).stdout.splitlines()]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without mistakes."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main", ".")
    Path("t.py").write_text(MOVED)
    Path("utils.py").write_text(HELPER)
    Path("infer.py").write_text(CALLER)
    commit(tmp_path)
    assert _reports() == []
    return tmp_path


def test_a_deleted_move_is_a_new_report(project: Path) -> None:
    (project / "t.py").write_text(MOVED.replace("x = x.to(device)\n", ""))
    assert _reports("--diff-base", "HEAD") == ["t.py:7:1: DEV102"]
    commit(project)
    assert _reports("--diff-base", "HEAD~1") == ["t.py:7:1: DEV102"]
    assert _reports("--diff-base", "HEAD") == []


def test_a_change_of_a_helper_is_a_new_report_at_its_call(project: Path) -> None:
    (project / "utils.py").write_text(BROKEN_HELPER)
    assert _reports("--diff-base", "HEAD") == ["infer.py:7:1: DEV102"]


def test_the_files_of_the_commit_are_analysed_together(project: Path) -> None:
    """The helper has another name now; at the commit, its call was wrong already."""
    (project / "utils.py").write_text(BROKEN_HELPER)
    commit(project)
    git(project, "mv", "utils.py", "helpers.py")
    (project / "infer.py").write_text("\n" + CALLER.replace("utils", "helpers"))
    assert _reports() == ["infer.py:8:1: DEV102"]
    assert _reports("--diff-base", "HEAD") == []


def test_a_new_file_is_absent_at_the_commit(project: Path) -> None:
    (project / "infer.py").write_text(CALLER.replace("utils", "helpers"))
    commit(project)
    assert _reports() == []
    (project / "helpers.py").write_text(BROKEN_HELPER)
    assert _reports("--diff-base", "HEAD") == ["infer.py:7:1: DEV102"]


def test_whole_project_reports_what_a_named_file_breaks_elsewhere(project: Path) -> None:
    (project / "utils.py").write_text(BROKEN_HELPER)
    assert _reports("--whole-project", "utils.py") == ["infer.py:7:1: DEV102"]
    assert _reports("--whole-project", "t.py") == []
    assert _reports("--whole-project", "--diff-base", "HEAD", "utils.py") == ["infer.py:7:1: DEV102"]
    commit(project)
    assert _reports("--whole-project", "utils.py") == ["infer.py:7:1: DEV102"]
    assert _reports("--whole-project", "--diff-base", "HEAD", "utils.py") == []


def test_whole_project_follows_imports_through_other_files(project: Path) -> None:
    (project / "utils.py").write_text(BROKEN_HELPER)
    (project / "between.py").write_text("from utils import prepare\n")
    (project / "infer.py").write_text(CALLER.replace("utils", "between"))
    assert _reports("--whole-project", "utils.py") == ["infer.py:7:1: DEV102"]
