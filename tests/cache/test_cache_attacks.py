"""Attacks on the cache: other working directories, files that change what imports lead to, entries of somebody else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from devlint import engine
from devlint.cli import devlint
from devlint.diagnostics import Diagnostic
from devlint.engine import Run
from devlint.settings import Settings

from tests.cache.projects import LEAF, USER
from tests.robustness.commands import MIXED

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="links and owners are POSIX")

FIXED = MIXED.replace("torch.ones(3)\n", 'torch.ones(3, device="cuda:0")\n')


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which is the working directory; the cache is beside it."""
    monkeypatch.setenv("DEVLINT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    _write(folder, {"pyproject.toml": ""})
    monkeypatch.chdir(folder)
    return folder


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, ["check", "--select", "DEV101", "--output-format", "jsonl", *arguments])


def _found(*paths: str) -> str:
    """What a run with the cache finds, after making sure that one without it finds the same."""
    warm, cold = _run(*paths), _run("--no-cache", *paths)
    assert warm.stdout == cold.stdout
    return warm.stdout


# --- working directories ------------------------------------------------------------------------------------


def test_sibling_folders_do_not_share_what_is_seen_from_them(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a docstring as long as the line that is mended in the other file: torch.ones(3), torch.ones(3)"
    other = f'"""\n{text}\n{text}\n"""\n'
    _write(project, {"a/m.py": MIXED, "b/m.py": other})
    monkeypatch.chdir(project / "a")
    assert _run("..").exit_code == 1
    monkeypatch.chdir(project / "b")
    assert _run("..").exit_code == 1
    assert _run("--fix", "..").exit_code == 0
    assert (project / "a/m.py").read_text() == FIXED
    assert (project / "b/m.py").read_text() == other


@pytest.mark.parametrize("folder", [".", "a", "b/deep"])
def test_a_result_is_shown_from_each_working_directory(
    project: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    _write(project, {"a/m.py": MIXED, "a/leaf.py": LEAF.format(device="cpu"), "a/user.py": USER.format(module="leaf")})
    (project / "b/deep").mkdir(parents=True)
    _run(".")
    monkeypatch.chdir(project / folder)
    kept = _from_memory(str(project))
    assert [one.place.file for one in kept] == [
        os.path.relpath(project / name).replace(os.sep, "/") for name in ("a/m.py", "a/user.py")
    ]
    assert _found(str(project))


def test_a_project_behind_a_link_is_the_same_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(project, {"m.py": MIXED})
    link = project.parent / "link"
    link.symlink_to(project)
    _run(".")
    monkeypatch.chdir(project.parent)
    assert [one.place.file for one in _from_memory("link")] == ["link/m.py"]
    other = project.parent / "other"
    _write(other, {"pyproject.toml": "", "m.py": "x = 1\n"})
    link.unlink()
    link.symlink_to(other)
    assert _found("link") == ""


def _from_memory(*paths: str) -> tuple[Diagnostic, ...]:
    """What a run finds that may analyse nothing."""
    from devlint.cache import user_cache

    def refuse() -> Any:
        raise AssertionError("something was analysed")

    settings = Settings(paths, select=("DEV101",))
    run: Run = engine.run(settings, load=refuse, cache=user_cache(settings))
    return run.outcome.diagnostics


# --- look-ups -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pkg/user.py", "pkg/my-script.py", "pkg/2nd.py"])
def test_a_package_that_appears_or_vanishes_changes_what_imports_lead_to(project: Path, name: str) -> None:
    _write(project, {name: USER.format(module="leaf"), "pkg/leaf.py": LEAF.format(device="cpu")})
    outside = _found(".")
    assert outside
    _write(project, {"pkg/__init__.py": ""})
    inside = _found(".")
    assert inside == ""
    (project / "pkg/__init__.py").unlink()
    assert _found(".") == outside


def test_a_package_above_the_project_counts(project: Path) -> None:
    _write(project, {"__init__.py": "", "m.py": USER.format(module="leaf")})
    _write(project.parent, {"leaf.py": LEAF.format(device="cpu")})
    (project.parent / ".git").mkdir()
    before = _found(".")
    assert before
    (project / "__init__.py").unlink()
    assert _found(".") == ""


def test_a_source_root_that_appears_counts(project: Path) -> None:
    _write(project, {"pyproject.toml": '[tool.devlint]\nsrc = ["lib"]\n', "m.py": USER.format(module="leaf")})
    assert _found(".") == ""
    _write(project, {"lib/leaf.py": LEAF.format(device="cpu")})
    assert _found(".")


def test_an_import_that_could_not_be_read_is_looked_at_again(project: Path) -> None:
    _write(project, {"m.py": USER.format(module="leaf")})
    Path("leaf.py").write_bytes(b"\xff")
    assert _found("m.py") == ""
    assert _from_memory("m.py") == ()
    _write(project, {"leaf.py": LEAF.format(device="cpu")})
    assert _found("m.py")


def test_a_folder_that_is_called_like_a_module_is_no_module(project: Path) -> None:
    _write(project, {"m.py": USER.format(module="leaf"), "leaf.py/x": ""})
    assert _found("m.py") == ""
    assert _from_memory("m.py") == ()


# --- what others have put there -----------------------------------------------------------------------------


@pytest.fixture
def kept(project: Path) -> Path:
    """The cache file of a project with one mismatch."""
    _write(project, {"m.py": MIXED, "alone.py": "import torch\n"})
    assert len(_run(".").stdout) > 0
    (file,) = (file for file in (project.parent / "cache").iterdir() if not file.name.startswith("rules-"))
    assert _from_memory(".")
    return file


def test_the_folder_is_for_the_user_alone(kept: Path) -> None:
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_not_read(kept: Path, mode: int) -> None:
    kept.parent.chmod(mode)
    _is_not_read(kept)


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_an_entry_that_others_may_write_is_not_read(kept: Path, mode: int) -> None:
    kept.chmod(mode)
    _is_not_read(kept)


def test_an_entry_behind_a_link_is_not_read(kept: Path) -> None:
    elsewhere = kept.parent.parent / "elsewhere.json"
    kept.rename(elsewhere)
    kept.symlink_to(elsewhere)
    _is_not_read(kept)


def test_a_pipe_is_not_waited_for(kept: Path) -> None:
    kept.unlink()
    os.mkfifo(kept)
    _is_not_read(kept)


@pytest.mark.parametrize("what", ["folder", "entry"])
def test_what_belongs_to_another_user_is_not_read(kept: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    if os.geteuid() == 0:
        os.chown(kept.parent if what == "folder" else kept, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    _is_not_read(kept)


def _is_not_read(file: Path) -> None:
    with pytest.raises(AssertionError, match="analysed"):
        _from_memory(".")
    assert _run(".").exit_code == 1


def _poison(file: Path, name: str, old: str, new: str) -> None:
    """Give a file the result of `m.py`, with a text in it replaced."""
    document = json.loads(file.read_text())
    result = json.dumps(document["results"]["m.py"])
    assert json.dumps(old)[1:-1] in result
    document["results"][name] = json.loads(result.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))
    file.write_text(json.dumps(document))


def test_a_poisoned_fix_is_not_made(kept: Path, project: Path) -> None:
    _poison(kept, "m.py", ', device="cuda:0"', ", out=os.abort()")
    assert "os.abort" in _run(".").stdout
    assert _run("--fix", ".").exit_code == 0
    assert (project / "m.py").read_text() == FIXED


def test_a_poisoned_report_is_not_fixed(kept: Path, project: Path) -> None:
    _poison(kept, "alone.py", "m.py", "alone.py")
    assert "alone.py" in _run(".").stdout
    assert _run("--fix", ".").exit_code == 0
    assert (project / "alone.py").read_text() == "import torch\n"


def test_a_poisoned_report_quotes_no_other_file(kept: Path, project: Path) -> None:
    (project.parent / "secret").write_text("the secret\n" * 9)
    _poison(kept, "m.py", "m.py", "../secret")
    shown = CliRunner().invoke(devlint, ["check", "--select", "DEV101", "."]).stdout
    assert "secret" not in shown
    assert "m.py" in shown
