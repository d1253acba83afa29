"""What a repository may put in the place of a file that devlint reads: pipes, devices, links, endless and deep ones."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint import reading
from devlint.cli import devlint
from devlint.reading import read_file

from tests.robustness.commands import MIXED
from tests.robustness.commands import run as run_process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")

SECRET = "TOKEN-5f2a"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that is nobody else's business; three notations can read its line."""
    file = tmp_path / "outside"
    file.write_text(f'{SECRET} = "{SECRET}"\n')
    return file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one mismatch in it."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.py").write_text(MIXED)
    monkeypatch.chdir(folder)
    monkeypatch.setenv(SECRET, SECRET)
    monkeypatch.setenv("DEVLINT_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def run(*arguments: str) -> Result:
    """Runs a command, which must not wait, and must not tell the secret."""
    start = time.monotonic()
    result = CliRunner().invoke(devlint, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "devlint failed" not in result.output
    assert SECRET not in result.output
    assert time.monotonic() - start < 60
    return result


# --- what stands in the place of a file ---------------------------------------------------------------------


def _endless(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk


IN_PLACE: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (os.mkfifo if hasattr(os, "mkfifo") else Path.touch, "not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "not a regular file"),
    "process": (lambda path: path.symlink_to("/proc/self/environ"), "not a regular file"),
    "memory": (lambda path: path.symlink_to("/proc/self/mem"), "not a regular file"),
    "folder": (Path.mkdir, "Is a directory"),
    "endless": (_endless, "larger than"),
}


@pytest.mark.parametrize("kind", IN_PLACE)
def test_only_a_regular_file_of_bounded_size_is_read(kind: str, tmp_path: Path) -> None:
    make, reason = IN_PLACE[kind]
    if kind in ("process", "memory") and sys.platform != "linux":
        pytest.skip("no /proc")
    make(tmp_path / "file")
    if kind == "memory":
        reason = "."
    with pytest.raises(OSError, match=reason):
        read_file(tmp_path / "file")


def test_an_ordinary_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    for size in (0, 1, 100):
        (tmp_path / "file").write_bytes(b"x" * size)
        assert read_file(tmp_path / "file", 100) == b"x" * size
    (tmp_path / "file").write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="larger than"):
        read_file(tmp_path / "file", 100)


def test_a_file_that_grows_while_it_is_read_is_cut_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    real = os.open

    def grow(name: Path, flags: int) -> int:
        descriptor = real(name, flags)
        monkeypatch.setattr(reading, "_require_plain", lambda *_: None)
        path.write_bytes(b"x" * 1000)
        return descriptor

    monkeypatch.setattr(os, "open", grow)
    with pytest.raises(OSError, match="larger than"):
        read_file(path, 100)


DOORS = {
    "pyproject.toml": ("pyproject.toml", ""),
    "devlint.toml": ("devlint.toml", ""),
    ".devlint.toml": (".devlint.toml", ""),
    "extend": ("base.toml", 'extend = "base.toml"\n'),
    "signatures": ("mine.pyi", 'signatures = ["mine.pyi"]\n'),
    "baseline": ("known.json", 'baseline = "known.json"\n'),
}
"""The file that a configuration names or is, and the configuration."""


@pytest.mark.parametrize("kind", [kind for kind in IN_PLACE if kind != "memory"])
@pytest.mark.parametrize("door", DOORS)
def test_a_configuration_leads_to_plain_files_only(project: Path, door: str, kind: str) -> None:
    file, text = DOORS[door]
    if text:
        (project / "devlint.toml").write_text(text)
    IN_PLACE[kind][0](project / file)
    result = run("check", ".")
    assert result.exit_code == 2
    assert result.stdout == ""
    (error,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    shown = error.removeprefix(f"error: {project}/").removeprefix("error: ")  # signatures are named in full
    assert shown.startswith((f"{file}:", "devlint.toml:1: ")), error
    assert "not a regular file" in error or "leads out of the project" in error or IN_PLACE[kind][1] in error


@pytest.mark.parametrize("kind", [kind for kind in IN_PLACE if kind != "memory"])
def test_ignore_patterns_in_something_else_are_a_warning(project: Path, kind: str) -> None:
    IN_PLACE[kind][0](project / ".gitignore")
    result = run("check", "--isolated", ".")
    assert result.exit_code == 1
    assert "DEV101" in result.stdout
    assert "warning: .gitignore: not honoured, " in result.stderr


@pytest.mark.parametrize("command", [("check",), ("show",), ("facts",), ("check", "--fix")], ids=" ".join)
@pytest.mark.parametrize("kind", [kind for kind in IN_PLACE if kind not in ("memory", "folder")])
def test_a_source_that_is_none_is_refused(project: Path, command: tuple[str, ...], kind: str) -> None:
    IN_PLACE[kind][0](project / "b.py")
    result = run(*command, "--isolated", "b.py")
    assert result.exit_code == 2
    assert f"error: b.py: cannot be read: {IN_PLACE[kind][1]}" in result.stderr


@pytest.mark.parametrize("option", ["--config", "--baseline"])
def test_what_the_command_line_names_is_a_plain_file(project: Path, option: str) -> None:
    os.mkfifo(project / "pipe")
    result = run("check", option, "pipe", ".")
    assert result.exit_code == 2
    assert "error: pipe: cannot be read: not a regular file" in result.stderr


# --- where paths lead ---------------------------------------------------------------------------------------

ABROAD = {
    "extend": 'extend = "{}"\n',
    "signatures": 'signatures = ["{}"]\n',
    "baseline": 'baseline = "{}"\n',
    "src": 'src = ["{}"]\n',
}


@pytest.mark.parametrize("way", ["absolute", "relative", "link", "folder"])
@pytest.mark.parametrize("key", ABROAD)
def test_a_configuration_names_nothing_outside_of_the_repository(
    project: Path, outside: Path, key: str, way: str
) -> None:
    (project / "link").symlink_to(outside)
    (project / "elsewhere").symlink_to(outside.parent)
    name = {"absolute": str(outside), "relative": "../outside", "link": "link", "folder": "elsewhere/outside"}[way]
    (project / "devlint.toml").write_text(f"\n{ABROAD[key].format(name)}")
    for command in ("check", "baseline", "show"):
        result = run(command, ".")
        assert result.exit_code == 2
        assert result.stderr == f'error: devlint.toml:2: {key}: "{name}" leads out of the project\n'
    assert outside.read_text() == f'{SECRET} = "{SECRET}"\n'


@pytest.mark.parametrize("name", ["devlint.toml", "pyproject.toml"])
def test_a_configuration_is_no_link_out_of_the_repository(project: Path, outside: Path, name: str) -> None:
    (project / name).symlink_to(outside)
    for command in (("check", "."), ("check", "--config", name, "."), ("init",), ("baseline",)):
        result = run(*command)
        assert result.exit_code == 2
        assert result.stderr == f"error: {name}: is a link that leads out of the project\n"
    assert outside.read_text() == f'{SECRET} = "{SECRET}"\n'


def test_links_inside_of_a_repository_are_followed(project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    (project / "shared.toml").write_text('[tool.devlint]\nselect = ["DEV3"]\n')
    (inner / "devlint.toml").write_text('extend = "base.toml"\n')
    (inner / "base.toml").symlink_to("../shared.toml")
    (inner / "b.py").symlink_to("../a.py")
    assert "DEV101" not in run("check", "inner").stdout
    assert "DEV302" in run("check", "inner").stdout


def test_a_folder_that_a_link_leads_to_keeps_its_own_configuration(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (other / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV3"]\n')
    (other / "inner" / "devlint.toml").write_text('extend = "../pyproject.toml"\n')
    (other / "inner" / "b.py").write_text(MIXED)
    (project / "linked").symlink_to(other)
    result = run("check", "linked/inner/b.py", "--output-format", "concise")
    assert "DEV302" in result.stdout
    assert "DEV101" not in result.stdout


def test_without_a_repository_a_project_or_a_named_folder_bounds_it(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.py").write_text(MIXED)
    (tmp_path / "base.toml").write_text('[tool.devlint]\nselect = ["DEV3"]\n')
    (inner / "devlint.toml").write_text('extend = "../base.toml"\n')
    for where in (tmp_path, inner):
        monkeypatch.chdir(where)
        assert "leads out of the project" in run("check", str(inner)).stderr
        assert run("check", str(tmp_path)).exit_code == 1
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "leads out of the project" in run("check", str(tmp_path)).stderr
    (tmp_path / "pyproject.toml").touch()
    assert run("check", str(inner)).exit_code == 1


def test_a_file_from_elsewhere_that_the_user_names_may_name_any_other(project: Path, tmp_path: Path) -> None:
    company = tmp_path / "company" / "settings"
    company.mkdir(parents=True)
    (company.parent / "base.toml").write_text('[tool.devlint]\nselect = ["DEV101"]\n')
    (company / "devlint.toml").write_text('extend = "../base.toml"\nbaseline = "../known.json"\n')
    assert run("baseline", "--config", str(company / "devlint.toml"), ".").exit_code == 0
    assert len(json.loads((company.parent / "known.json").read_bytes())["entries"]) == 1
    assert run("check", "--config", str(company / "devlint.toml"), ".").exit_code == 0


def test_an_option_may_put_the_baseline_anywhere(project: Path, tmp_path: Path) -> None:
    assert run("baseline", "--baseline", "../known.json").exit_code == 0
    assert (tmp_path / "known.json").exists()
    assert run("check", "--baseline", "../known.json").exit_code == 0


@pytest.mark.parametrize("command", [("baseline",), ("init",)], ids=" ".join)
def test_the_usual_baseline_is_no_link_out_of_the_repository(
    project: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (project / "devlint-baseline.json").symlink_to(tmp_path / "new")
    result = run(*command)
    assert result.exit_code == 2
    assert "devlint-baseline.json: is " in result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("suffix", [".py", ".ipynb", ".md"])
def test_a_walk_quotes_no_file_that_a_link_outside_leads_to(project: Path, outside: Path, suffix: str) -> None:
    outside.write_text(f"login {SECRET} password {SECRET}\n")
    (project / f"b{suffix}").symlink_to(outside)
    (project / f"c{suffix}").symlink_to("/proc/self/environ")
    result = run("check", "--include-markdown", ".")
    assert result.exit_code == 1
    for name in ("b", "c"):
        assert f"warning: {name}{suffix}: skipped, it leads out of the project" in result.stderr


# --- deep and long ------------------------------------------------------------------------------------------

DEEP = 100_000
DIGITS = "9" * 5000
CHAIN = {"devlint.toml": 'extend = "0.toml"'}
CHAIN |= {f"{number}.toml": f'[tool.devlint]\nextend = "{number + 1}.toml"\n' for number in range(1100)}
"""Files that extend each other, more than Python nests calls."""


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"devlint.toml": f"a = {'[' * DEEP}"}, "devlint.toml: is not valid TOML: nested too deeply"),
        ({"devlint.toml": f"a = {'{a=' * DEEP}"}, "devlint.toml: is not valid TOML: "),
        ({"devlint.toml": f"devices = {DIGITS}"}, "devlint.toml: is not valid TOML: a number is too long"),
        ({"devlint.toml": f"a{'.b' * DEEP} = 1"}, "devlint.toml:1: has lines with too many dots"),
        ({"devlint.toml": "\n[a" + " . 'b'" * DEEP + "]"}, "devlint.toml:2: has lines with too many dots"),
        ({"pyproject.toml": f"x = {{a{'.b' * DEEP} = 1}}"}, "pyproject.toml:1: has lines with too many dots"),
        ({"devlint.toml": f"x{'.y' * 500} = 1\n" * 400}, "devlint.toml:1: has lines with too many dots"),
        ({"devlint.toml": 'extend = "b"', "b": f"a{'.b' * DEEP} = 1"}, "b:1: has lines with too many dots"),
        ({"devlint.toml": f"devices = 0x{'f' * DEEP}"}, "devlint.toml:1: devices: a number of devices, 0 or more,"),
        ({"devlint.toml": f"select = 0x{'f' * DEEP}"}, "devlint.toml:1: select: a list of strings is wanted"),
        ({"devlint.toml": 'baseline = "b"', "b": "[" * DEEP}, "b: is no baseline: nested too deeply"),
        ({"devlint.toml": 'baseline = "b"', "b": f'{{"version": {DIGITS}}}'}, "b: is no baseline"),
        (
            {"devlint.toml": 'baseline = "b"', "b": f'{{"version": "{SECRET}", "entries": []}}'},
            "b: is of version another kind, this devlint reads 1",
        ),
        (
            {"devlint.toml": 'baseline = "b"', "b": f'{{"version": 1, "entries": [{{"{SECRET}": 1}}]}}'},
            "b: is no baseline: an entry has file, code, rule, fingerprint, message",
        ),
        ({"devlint.toml": 'signatures = ["s.pyi"]', "s.pyi": f"{SECRET}\n"}, "s.pyi:1: not a declaration"),
        (CHAIN, "19.toml:2: extend: more than 20 files extend each other"),
        ({"devlint.toml": 'baseline = "a\\u0000b"'}, "devlint.toml:1: baseline: a path has no NUL character"),
    ],
)
def test_deep_and_long_documents_are_a_clear_error(project: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (project / name).write_text(text)
    result = run("check", "a.py")
    assert result.exit_code == 2
    assert result.stderr.replace(f"{project}/", "").startswith(f"error: {message}")
    assert len(result.stderr) < 300


@pytest.mark.parametrize("text", ["[" * DEEP, f'{{"cells": [{DIGITS}]}}', '{"a":' * DEEP])
def test_a_deep_notebook_is_an_error_of_its_own(project: Path, text: str) -> None:
    (project / "b.ipynb").write_text(text)
    result = run("check", ".")
    assert result.exit_code == 2
    assert "DEV101" in result.stdout
    assert "error: b.ipynb: is no notebook" in result.stderr


def test_a_folder_of_any_depth_has_its_configuration_found(project: Path) -> None:
    folder = "d/" * 600
    os.makedirs(folder)
    (project / folder / "b.py").write_text(MIXED)
    (project / "devlint.toml").write_text('select = ["DEV302"]\n')
    result = run("check", f"{folder}b.py", "--output-format", "concise")
    assert result.exit_code == 1
    assert "DEV302" in result.stdout
    assert "DEV101" not in result.stdout


def test_the_environment_of_a_run_stays_in_it(project: Path) -> None:
    """The attack of a pull request: a configuration that names the environment of the process."""
    (project / "devlint.toml").write_text('signatures = ["/proc/self/environ"]\n')
    ended = run_process(project, "check", ".")
    assert ended.returncode == 2
    assert SECRET not in ended.stdout + ended.stderr
