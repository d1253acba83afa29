"""What SECURITY.md promises of code that nobody trusts; how reports show hostile names is tested with the formats."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.robustness.commands import MIXED, run

LEAVES_A_TRACE = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"

RUNNABLE = (
    "a.py",
    "setup.py",
    "conftest.py",
    "sitecustomize.py",
    "torch.py",
    "libcst.py",
    "click.py",
    "devlint_rules.py",
    "package/__init__.py",
    "package/__main__.py",
    *(("multiprocessing.py", "struct.py") if sys.version_info >= (3, 11) else ()),
)
"""Names under which Python, pytest or devlint itself might be led to import a file."""


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "."),
        ("check", "--fix", "--unsafe-fixes", "--jobs", "2", "."),
        ("show", "."),
        ("baseline", "."),
        ("facts", "a.py"),
    ],
    ids=" ".join,
)
def test_checked_code_is_never_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    for name in RUNNABLE:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(LEAVES_A_TRACE + "import package, a\n" + MIXED)
    ended = run(tmp_path, *arguments)
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.rglob("*.ran")) == []


def test_fixes_do_not_follow_a_link_out_of_the_project(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside.py", tmp_path / "project"
    project.mkdir()
    outside.write_text(MIXED)
    (project / "pyproject.toml").write_text("")
    (project / "link.py").symlink_to(outside)
    ended = run(project, "--fix", "link.py")
    assert ended.returncode == 2
    assert "error: link.py: leads out of the project, and is not fixed" in ended.stderr
    assert outside.read_text() == MIXED


def _sources() -> list[Path]:
    linter = (path for folder in ("linter", "rules") for path in (REPOSITORY / folder).rglob("*.py"))
    return sorted(linter)


UNSAFE_MODULES = {
    "pickle",
    "ctypes",
    "marshal",
    "shelve",
    "dill",
    "joblib",
    "yaml",
    "runpy",
    "code",
    "codeop",
    "socket",
    "http",
}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}


@pytest.mark.parametrize("path", _sources(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_the_linter_has_no_means_to_run_what_it_reads(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=[ast.alias(name="ctypes")]):
                assert path.name == "exchange.py"  # which exchanges the names of two files
            case ast.Import(names=names):
                assert UNSAFE_MODULES.isdisjoint(name.name.split(".")[0] for name in names)
                assert "urllib.request" not in {name.name for name in names}
            case ast.ImportFrom(module=str(module)):
                assert module.split(".")[0] not in UNSAFE_MODULES
                assert module != "urllib.request"
            case ast.Call(func=ast.Name(id=name)):
                assert name not in UNSAFE_CALLS


def test_every_promise_names_a_test_that_exists() -> None:
    text = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 8
    for file, name in named:
        assert f"def {name}(" in (REPOSITORY / file).read_text(encoding="utf-8"), (file, name)
