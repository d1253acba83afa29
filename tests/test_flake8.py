"""devlint as a plugin of the real flake8."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from devlint import __version__

from tests.conftest import REPOSITORY, cannot_run, read_toml

PROGRAM = """\
import torch
x = torch.zeros(3, device="cuda:0") + torch.ones(3)
y = torch.zeros(3, device="cuda:0") + torch.ones(3)  # devlint: ignore[DEV101] known
"""


class Flake8:
    """Runs flake8 in a folder, beside a distribution that names the plugin as this checkout does."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.folder = folder
        metadata = installed / f"devlint-{__version__}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: devlint\nVersion: {__version__}\n")
        groups = read_toml(REPOSITORY / "pyproject.toml")["project"]["entry-points"]
        text = "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
            for group, points in groups.items()
        )
        (metadata / "entry_points.txt").write_text(text)
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}

    def run(self, *arguments: str, stdin: str = "") -> tuple[int, list[str]]:
        command = [sys.executable, "-m", "flake8", "--isolated", "--extend-ignore", "E501", *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()


@pytest.fixture
def flake8(tmp_path: Path) -> Flake8:
    if importlib.util.find_spec("flake8") is None:
        cannot_run("flake8 is not installed")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(PROGRAM)
    return Flake8(folder, tmp_path / "installed")


def test_reports_are_those_of_devlint_and_off_until_asked_for(flake8: Flake8) -> None:
    assert flake8.run("a.py") == (0, [])
    code, lines = flake8.run("--enable-extensions", "DEV", "a.py", "--select", "DEV")
    assert code == 1
    assert [" ".join(line.split()[:2]) for line in lines] == [
        "a.py:2:5: DEV101",
        "a.py:2:27: DEV302",
        "a.py:3:27: DEV302",
    ]


def test_standard_input_and_the_options_of_flake8(flake8: Flake8) -> None:
    enabled = ("--enable-extensions", "DEV", "--select", "DEV1")
    code, lines = flake8.run(*enabled, "-", stdin=PROGRAM)
    assert (code, [line.split()[1] for line in lines]) == (1, ["DEV101"])
    assert flake8.run(*enabled, "--per-file-ignores", "a.py:DEV101", "a.py") == (0, [])


def test_an_option_chooses_the_analysis(flake8: Flake8) -> None:
    enabled = ("--enable-extensions", "DEV", "--select", "DEV1")
    for engine, message in (("analysis", "needs both"), ("inference", "`+` fails")):
        code, lines = flake8.run(*enabled, "--devlint-engine", engine, "a.py")
        assert (code, len(lines), message in lines[0]) == (1, 1, True), lines
