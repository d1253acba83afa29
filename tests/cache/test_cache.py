"""A run with the results of earlier runs reports what a run without them does, whatever has happened in between."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

from tests.cache.projects import LEAF, LINK, USER, Runner


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text("")
    monkeypatch.chdir(project)
    Path("leaf.py").write_text(LEAF.format(device="cpu"))
    Path("link.py").write_text(LINK.format(module="leaf"))
    Path("user.py").write_text(USER.format(module="link"))
    Path("alone.py").write_text("import torch\n\nx = torch.ones(3) + torch.ones(3, device='cuda:0')\n")
    return Runner(tmp_path / "cache")


def test_a_second_run_analyses_nothing(runner: Runner) -> None:
    first = runner.warm()
    assert {diagnostic.place.file for diagnostic in first} >= {"user.py", "alone.py"}
    assert runner.from_memory() == first == runner.cold()
    assert runner.from_memory("user.py") == tuple(entry for entry in first if entry.place.file == "user.py")


def test_what_an_import_leads_to_counts(runner: Runner) -> None:
    before = runner.warm()
    Path("leaf.py").write_text(LEAF.format(device="cuda:0"))
    runner.from_memory("alone.py")
    with pytest.raises(AssertionError, match="analysed"):
        runner.from_memory("user.py")
    after = runner.warm()
    assert after == runner.cold() != before
    assert runner.from_memory() == after


def test_a_part_of_the_project_may_be_checked_in_between(runner: Runner) -> None:
    runner.warm()
    Path("leaf.py").write_text(LEAF.format(device="cuda:0"))
    runner.warm("link.py")
    assert runner.warm() == runner.cold()


def test_a_file_that_appears_may_be_what_an_import_was_looking_for(runner: Runner) -> None:
    Path("user.py").write_text(USER.format(module="late"))
    before = runner.warm()
    Path("late.py").write_text(LEAF.format(device="cpu"))
    assert runner.warm() == runner.cold() != before


def test_a_package_goes_before_a_file(runner: Runner) -> None:
    before = runner.warm()
    Path("leaf").mkdir()
    Path("leaf/__init__.py").write_text(LEAF.format(device="cuda:0"))
    assert runner.warm() == runner.cold() != before


def test_a_file_may_vanish(runner: Runner) -> None:
    before = runner.warm()
    Path("leaf.py").unlink()
    assert runner.warm() == runner.cold() != before


def test_a_configuration_has_results_of_its_own(runner: Runner) -> None:
    environment = {"DEVLINT_CACHE_DIR": str(runner.folder)}
    arguments = ["check", "--output-format", "concise", "alone.py"]
    first = CliRunner(env=environment).invoke(devlint, arguments)
    assert "DEV101" in first.stdout
    Path("pyproject.toml").write_text('[tool.devlint]\nignore = ["DEV101"]\n')
    assert "DEV101" not in CliRunner(env=environment).invoke(devlint, arguments).stdout
    Path("pyproject.toml").write_text("")
    assert CliRunner(env=environment).invoke(devlint, arguments).stdout == first.stdout


def test_without_a_cache_nothing_is_written(runner: Runner) -> None:
    result = CliRunner(env={"DEVLINT_CACHE_DIR": str(runner.folder)}).invoke(devlint, ["check", "--no-cache", "."])
    assert result.exit_code == 1
    assert not runner.folder.exists()


def _shapes() -> list[bytes]:
    deep = b"[" * 100_000
    wrong = [{}, [], 1, {"format": 1}, {"format": 1, "traces": 3, "results": []}, {"format": 1, "traces": [[1]]}]
    half = {"format": 1, "traces": [], "results": {"x": ["x", [["DEV101"]]]}}
    return [b"", b"\0\xff", deep, *(json.dumps(one).encode() for one in (*wrong, half))]


@pytest.mark.parametrize("content", _shapes(), ids=range(len(_shapes())))
def test_a_spoilt_cache_is_no_cache(runner: Runner, content: bytes) -> None:
    before = runner.warm()
    (file,) = runner.folder.iterdir()
    file.write_bytes(content)
    assert runner.warm() == before
    assert runner.from_memory() == before


def test_a_truncated_cache_is_no_cache(runner: Runner) -> None:
    before = runner.warm()
    (file,) = runner.folder.iterdir()
    whole = file.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 7)):
        file.write_bytes(whole[:length])
        assert runner.warm() == before


def test_a_place_that_cannot_be_written_is_no_reason_to_fail(runner: Runner) -> None:
    runner.folder.write_text("no folder")
    assert runner.warm() == runner.cold()
    assert runner.folder.read_text() == "no folder"


def test_what_nobody_uses_is_thrown_away(runner: Runner) -> None:
    runner.folder.mkdir()
    old, new = runner.folder / "old.json", runner.folder / "new.json"
    for file in (old, new):
        file.write_text("{}")
    os.utime(old, (0, 0))
    runner.warm()
    assert (old.exists(), new.exists()) == (False, True)
