"""`--exclude`, `--extend-exclude`, `--show-files` and `--show-settings`: which files, under which settings."""

from __future__ import annotations

import sys

import pytest

from tests.cli.stand_in import Shell

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _files(shell: Shell, *arguments: str) -> list[str]:
    result = shell.run("check", "--show-files", *arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result
    return result.stdout.splitlines()


@pytest.fixture
def project(shell: Shell) -> Shell:
    shell.write("pyproject.toml", '[tool.devlint]\nexclude = ["vendor/"]\n')
    for name in ("a.py", "vendor/b.py", "src/c.py", "src/old/d.py"):
        shell.write(name)
    return shell


def test_files_are_listed_and_not_checked(project: Shell) -> None:
    assert _files(project) == ["a.py", "src/c.py", "src/old/d.py"]
    assert _files(project, "src/c.py", "vendor/b.py") == ["src/c.py", "vendor/b.py"]


def test_exclude_stands_in_place_of_the_configured_patterns(project: Shell) -> None:
    assert _files(project, "--exclude", "src/old, a.py") == ["src/c.py", "vendor/b.py"]


def test_extend_exclude_stands_beside_them(project: Shell) -> None:
    assert _files(project, "--extend-exclude", "old/,a.py") == ["src/c.py"]
    assert _files(project, "--exclude", "c.py", "--extend-exclude", "vendor") == ["a.py", "src/old/d.py"]


def test_excludes_hold_for_what_is_checked(project: Shell) -> None:
    assert project.concise("--extend-exclude", "src") == ["a.py:2:1: DEV101"]


def test_patterns_are_relative_to_the_working_folder(project: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder / "src")
    assert _files(project, "--extend-exclude", "/old") == ["c.py"]
    assert _files(project, "--extend-exclude", "/c.py", "..") == ["../a.py", "old/d.py"]


def test_a_named_file_is_excluded_only_by_force(project: Shell) -> None:
    assert _files(project, "--exclude", "a.py", "a.py") == ["a.py"]
    result = project.run("check", "--show-files", "--exclude", "a.py", "--force-exclude", "a.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "note: a.py: excluded\n")


def test_a_default_exclude_can_be_taken_back(project: Shell) -> None:
    project.write("build/e.py")
    assert "build/e.py" not in _files(project)
    assert "build/e.py" in _files(project, "--extend-exclude", "!build")


def test_a_wrong_pattern_and_a_missing_path_are_errors(project: Shell) -> None:
    wrong = project.run("check", "--show-files", "--exclude", "a\\")
    assert (wrong.exit_code, wrong.stderr) == (2, "error: --exclude: not a pattern: 'a\\\\'\n")
    missing = project.run("check", "--show-files", "gone.py")
    assert (missing.exit_code, missing.stderr) == (2, "error: gone.py: no such file or folder\n")


def test_settings_are_toml_that_says_the_same(project: Shell) -> None:
    project.write(
        "pyproject.toml",
        '[tool.devlint]\nselect = ["DEV1", "DEV302"]\nignore = ["DEV103"]\nexclude = ["vendor/"]\ndevices = 2\n'
        '[tool.devlint.per-file-ignores]\n"tests/**" = ["DEV302"]\n[tool.devlint.severity]\nDEV302 = "error"\n',
    )
    result = project.run("check", "--show-settings", "--extend-select", "DEV304")
    shown = tomllib.loads(result.stdout)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("# 3 files of ., configured by pyproject.toml\n")
    assert {"DEV101", "DEV302", "DEV304"} <= set(shown["select"])
    assert {"DEV103", "DEV203"}.isdisjoint(shown["select"])
    assert (shown["exclude"], shown["devices"]) == (["vendor/"], 2)
    assert shown["per-file-ignores"] == {"tests/**": ["DEV302"]}
    assert shown["severity"] == {"DEV302": "error"}

    project.write("again.toml", result.stdout)
    again = project.run("check", "--show-settings", "--config", "again.toml")
    assert tomllib.loads(again.stdout) == shown


def test_each_configuration_has_its_settings(project: Shell) -> None:
    project.write("src/devlint.toml", 'select = ["DEV302"]\n')
    result = project.run("check", "--show-settings")
    assert [line for line in result.stdout.splitlines() if line.startswith("#")] == [
        "# 1 file of ., configured by pyproject.toml",
        "# 2 files of ., configured by src/devlint.toml",
    ]


def test_a_named_configuration_may_have_its_keys_at_the_top(project: Shell) -> None:
    project.write("flat.toml", 'select = ["DEV302"]\nexclude = ["src"]\n')
    assert _files(project, "--config", "flat.toml") == ["a.py", "vendor/b.py"]
    assert project.concise("--config", "flat.toml") == []
    project.write("flat.toml", "line-length = 100\n")
    wrong = project.run("check", "--config", "flat.toml")
    assert (wrong.exit_code, wrong.stderr) == (2, 'error: flat.toml:1: unknown key "line-length"\n')
