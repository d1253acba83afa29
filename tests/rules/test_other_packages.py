"""The package of `rules/write-a-rule.md`, installed beside the wheel of devlint, through the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PROGRAM = """\
import torch
x = torch.ones(3, device="cuda:0")
y = torch.ones(3, device="cuda:1")  # devlint: ignore[hard-coded-gpu] the one that shows pictures
print(x.device)
"""

FILES = (
    "pyproject.toml",
    "our_devlint_rules/hard_coded_gpu.py",
    "our_devlint_rules/print_of_tensor.py",
    "tests/train.py",
    "tests/test_rules.py",
)


class Shell:
    """Runs devlint where the documented package is installed beside it; neither is a checkout."""

    def __init__(self, folder: Path) -> None:
        page = (REPOSITORY / "rules" / "write-a-rule.md").read_text(encoding="utf-8")
        block = r"^`([\w./]+)`(?:.|\n(?!\n))*\n\n```(?:toml|python)\n((?:.|\n)*?)^```$"
        blocks = re.findall(block, page, re.MULTILINE)
        assert tuple(name for name, _ in blocks) == FILES
        self.package = folder / "our-devlint-rules"
        for name, text in [*blocks, ("our_devlint_rules/__init__.py", "")]:
            (self.package / name).parent.mkdir(parents=True, exist_ok=True)
            (self.package / name).write_text(text)
        site, wheels = folder / "site", folder / "wheels"
        for project in (REPOSITORY, self.package):
            self._python("-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels), folder=project)
        built = [str(wheel) for wheel in wheels.iterdir()]
        assert len(built) == 2
        self._python("-m", "pip", "install", "--no-deps", "--no-index", "--target", str(site), *built, folder=folder)
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "a.py").write_text(PROGRAM)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(site),
            "DEVLINT_CACHE_DIR": str(folder / "cache"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the plugins of all that is installed here take seconds to load
        }

    @staticmethod
    def _python(*arguments: str, folder: Path) -> None:
        done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *arguments: str, module: str = "devlint", folder: Path | None = None) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-m", module, *arguments],
            cwd=folder or self.folder,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("other"))


def concise(shell: Shell, *arguments: str) -> list[str]:
    """Return the place and code of each report."""
    code, said = shell.run("check", "--output-format", "concise", "--no-cache", "--quiet", *arguments, "a.py")
    assert code == 1, said
    return [" ".join(line.split(" ")[:2]) for line in said.splitlines()]


def test_its_reports_stand_beside_those_of_devlint(shell: Shell) -> None:
    assert concise(shell) == [
        "a.py:2:26: DEV302",
        "a.py:2:26: OUR101",
        "a.py:3:26: DEV302",
        "a.py:4:1: OUR102",
    ]


def test_selectors_name_it(shell: Shell) -> None:
    assert concise(shell, "--select", "OUR101") == concise(shell, "--select", "hard-coded-gpu") == ["a.py:2:26: OUR101"]
    assert concise(shell, "--select", "OUR") == ["a.py:2:26: OUR101", "a.py:4:1: OUR102"]
    code, said = shell.run("check", "--select", "OUR103", "a.py")
    assert (code, "did you mean OUR10" in said) == (2, True)


def test_its_documentation_is_printed(shell: Shell) -> None:
    code, said = shell.run("explain", "OUR101")
    assert code == 0
    assert "Reports hard-coded CUDA devices." in said
    code, said = shell.run("rules")
    assert code == 0
    assert re.search(r"^OUR101 +hard-coded-gpu ", said, flags=re.MULTILINE)


def test_its_own_tests_pass_and_can_fail(shell: Shell) -> None:
    code, said = shell.run("-q", "-p", "no:cacheprovider", "tests", module="pytest", folder=shell.package)
    assert (code, "2 passed" in said) == (0, True), said
    program = shell.package / "tests" / "train.py"
    program.write_text(
        program.read_text().replace("  # error: [hard-coded-gpu]", "  #").replace("number 1", "number 2")
    )
    code, said = shell.run("-q", "-p", "no:cacheprovider", "tests", module="pytest", folder=shell.package)
    assert code == 1
    assert "line 3: [hard-coded-gpu]" in said
    assert 'line 5: [print-of-tensor] "print number 2" is not reported' in said


def test_a_rule_without_a_heading_works_and_is_remarked_on(shell: Shell) -> None:
    file = Path(shell.environment["PYTHONPATH"]) / "our_devlint_rules" / "print_of_tensor.py"
    before = file.read_text()
    try:
        file.write_text(before.replace("## Known limits", "Known limits"))
        code, said = shell.run("check", "--output-format", "concise", "a.py")
        assert code == 1
        assert "OUR102" in said
        remark = (
            "note: rule OUR102 of our_devlint_rules.print_of_tensor: its docstring lacks the heading `## Known limits`"
        )
        assert said.count(remark) == 1
        assert shell.run("check", "--output-format", "concise", "a.py")[1].count(remark) == 1, "with kept results, too"
        assert remark not in shell.run("check", "--quiet", "a.py")[1]
    finally:
        file.write_text(before)


def test_a_rule_that_raises_is_named_with_its_line(shell: Shell) -> None:
    file = Path(shell.environment["PYTHONPATH"]) / "our_devlint_rules" / "print_of_tensor.py"
    before = file.read_text()
    try:
        file.write_text(before.replace("self.seen += 1", "self.seen += node.name"))
        code, said = shell.run("check", "--output-format", "concise", "--no-cache", "a.py")
        assert code == 2
        assert "a.py:4:1: DEV903" in said
        assert "rule print-of-tensor (OUR102) raised AttributeError: 'Call' object has no attribute 'name'" in said
        file.write_text(before.replace("self.seen = 0", "self.seen = 1 / 0"))
        code, said = shell.run("check", "--output-format", "concise", "--no-cache", "a.py")
        assert "rule print-of-tensor (OUR102) raised ZeroDivisionError" in said
    finally:
        file.write_text(before)
