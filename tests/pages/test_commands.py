"""Every command on every page runs, or at least names what exists."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from devlint.cli import devlint

from tests.conftest import REPOSITORY, cannot_run
from tests.pages import PAGES, blocks, name_of, read

FILES = {
    "train.py": """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    net(torch.ones(5, 3, device=device)).sum().backward()
    optimizer.step()
""",
    "src/ours.py": """\
import torch


def moved(device: torch.device) -> torch.Tensor:
    x = torch.ones(3)
    x.to(device)
    return x + torch.ones(3, device=device)
""",
    "tests/test_ours.py": "import torch\n\n\ndef test_ones() -> None:\n    assert torch.ones(3).sum() == 3\n",
    "package/__init__.py": "",
    "stand_in.py": 'import runpy\n\nrunpy.run_path("train.py")\n',
    "our-devlint-rules/README.md": "",
}
"""The project that the pages speak of."""

SLOW = ("devlint run", "devlint rehearse", "devlint merge-reports", "pytest", "torchrun", "DEVLINT_GUARD=")
"""How commands begin that import torch."""

SET_UP = ("pip install ", "python3 -m venv ", ".venv-test/bin/", "git clone ")
"""How commands begin that install something; `test_pages.py` and `.ci/run` cover these."""

RUN = re.compile(r"(?:devlint|pytest|torchrun|DEVLINT_GUARD=\S+|pip|python3?|\.venv\S*/\S+)(?= ).*")


def _shown(text: str) -> list[str]:
    """The commands in the blocks of a page, one a line, and in the steps of its jobs."""
    lines = [line for block in blocks(text, "sh", "console") for line in block.splitlines()]
    jobs = [line for block in blocks(text, "yaml") for line in block.splitlines()]
    lines += [match[1] for line in jobs if (match := re.match(r" *- (?:run: )?(.*)", line))]
    return [line for line in lines if RUN.fullmatch(line)]


def _quoted(text: str) -> list[str]:
    """The commands in the sentences of a page."""
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [code.replace("\n", " ") for code in re.findall(r"`([^`]+)`", prose) if RUN.fullmatch(code)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    shutil.copy(tmp_path / "train.py", tmp_path / "package" / "train.py")
    git = ["git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for command in (["init", "-q", "-b", "main", "."], ["add", "."], ["commit", "-q", "-m", "begin"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    return tmp_path


def _execute(command: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    for name in ("DEVLINT_GUARD", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    said = f"{command}\n{done.stdout}{done.stderr}"
    checks = command.startswith("devlint ") and not command.startswith(SLOW)
    assert done.returncode in ((0, 1) if checks else (0,)), said
    assert "error: " not in done.stderr, said


@pytest.mark.parametrize("page", [page for page in PAGES if set(_shown(read(page)))], ids=name_of)
def test_the_commands_of_a_page_run(page: Path, project: Path) -> None:
    commands = [command for command in _shown(read(page)) if not command.startswith(SET_UP)]
    if any(command.startswith(SLOW) for command in commands) and importlib.util.find_spec("torch") is None:
        cannot_run("torch is not installed")
    if any("report.rank" in command for command in commands):
        for rank in range(2):
            _execute(f"devlint run --guard-mode record --guard-report report.rank{rank}.json train.py", project)
    for command in commands:
        _execute(command, project)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_sentences_name_what_exists(page: Path) -> None:
    assert [command for command in _quoted(read(page)) if not _exists(command)] == []


def _exists(command: str) -> bool:
    """Whether a command is about a module, a file, a command or an option that there is."""
    words = shlex.split(command)
    if words[:2] == ["pip", "install"]:
        return words[2].startswith((".", "git+")) or " @ git+" in words[2]
    if words[0].startswith("python"):
        module = words[words.index("-m") + 1] if len(words) > words.index("-m") + 1 else "tests"
        return importlib.util.find_spec(module) is not None
    if words[0] == "pytest":
        files = [word for word in words[1:] if word.startswith("tests/")]
        return all((REPOSITORY / file).exists() for file in files)
    if words[0] == "devlint":
        return _is_usage(words[1:])
    return False


def _is_usage(words: list[str]) -> bool:
    """Whether the arguments of `devlint` begin with a command, if with no path, and use its options."""
    name = words[0] if words[0] in devlint.commands else "check"
    options = {name for parameter in devlint.commands[name].params for name in parameter.opts}
    options |= {"--version", "--help"}
    known = [word for word in words if word.startswith("--")]
    return all(word.partition("=")[0] in options for word in known)


def test_watching_ends_with_ctrl_c(project: Path) -> None:
    assert "`devlint check --watch src`" in read("linter/usage.md")
    command = [sys.executable, "-m", "devlint", "check", "--watch", "src"]
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stderr is not None
        assert any("waiting for changes" in line for line in started.stderr)
        started.send_signal(signal.SIGINT)
        assert started.wait(60) == 0
