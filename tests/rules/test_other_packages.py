"""A rule of another package, as the README of the rules says to write it, through the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from devlint import __version__

from tests.conftest import REPOSITORY, read_toml

PROGRAM = """\
import torch
x = torch.ones(3, device="cuda:0")
y = torch.ones(3, device="cuda:1")  # devlint: ignore[hard-coded-gpu] the one that shows pictures
"""


def _distribution(site: Path, project: Path) -> None:
    """Put what an installer writes for a `pyproject.toml` into a folder: the metadata that names the entry points."""
    table = read_toml(project)["project"]
    version = table.get("version", __version__)
    metadata = site / f"{table['name'].replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: {version}\n")
    points = table["entry-points"]["devlint.rules"]
    text = "".join(f"{name} = {value}\n" for name, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[devlint.rules]\n{text}")


class Shell:
    """Runs devlint where the documented package is installed beside it."""

    def __init__(self, folder: Path) -> None:
        readme = (REPOSITORY / "rules" / "README.md").read_text(encoding="utf-8")
        section = readme.split("## Rules of other packages\n")[1].split("\n## ")[0]
        (project,) = re.findall(r"^```toml\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
        (rule,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
        files = [name for name in re.findall(r"`([\w./]+)`", section) if name.endswith((".toml", ".py"))]
        assert files == ["pyproject.toml", "our_devlint_rules/__init__.py", "our_devlint_rules/hard_coded_gpu.py"]
        site = folder / "site"
        for name, text in zip(files, (project, "", rule), strict=True):
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(text)
        _distribution(site, site / "pyproject.toml")
        _distribution(site, REPOSITORY / "pyproject.toml")
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "a.py").write_text(PROGRAM)
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}

    def run(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "devlint", *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("other"))


def test_its_reports_stand_beside_those_of_devlint(shell: Shell) -> None:
    code, said = shell.run("check", "--output-format", "concise", "--no-cache", "--quiet", "a.py")
    assert code == 1
    assert [line.split(" ")[1] for line in said.splitlines()] == ["DEV302", "OUR101", "DEV302"]
    assert '`"cuda:0"` does not come from the settings' in said


def test_selectors_speak_of_it(shell: Shell) -> None:
    for selector in ("OUR101", "OUR", "hard-coded-gpu"):
        code, said = shell.run(
            "check", "--select", selector, "--output-format", "concise", "--no-cache", "--quiet", "a.py"
        )
        assert code == 1
        assert len(said.splitlines()) == 1
    code, said = shell.run("check", "--select", "OUR102", "a.py")
    assert (code, "did you mean OUR101" in said) == (2, True)


def test_its_documentation_is_printed(shell: Shell) -> None:
    code, said = shell.run("explain", "OUR101")
    assert code == 0
    assert "Reports CUDA devices that are written down in the code." in said
    code, said = shell.run("rules")
    assert code == 0
    assert re.search(r"^OUR101 +hard-coded-gpu ", said, flags=re.MULTILINE)
