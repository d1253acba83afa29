"""What goes wrong around devlint while it runs: disks, signals, files that come and go."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.robustness.commands import MIXED, end, run, start

resource = pytest.importorskip("resource", reason="limits of a process are POSIX")

FILES = 12


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    for number in range(FILES):
        (tmp_path / f"m{number:02}.py").write_text(MIXED)
    return tmp_path


def _texts(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in project.iterdir()}


def _small_files_only() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what lets a process write nothing of more than a few bytes.

    Byte code must not be kept then: Python 3.11 takes the few bytes for the whole file, and so does the next process.
    """
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return _small_files_only


WAITING = """\
import os

really_open = os.open


def wait_once(path, *arguments, **options):
    if os.path.basename(os.fspath(path)) == {name!r}:
        os.open = really_open
        with open({pipe!r}, "rb") as pipe:
            pipe.read()
    return really_open(path, *arguments, **options)


os.open = wait_once
"""
"""A `sitecustomize.py` that lets each process wait at the end of a named pipe before it reads a file."""


def _waits_for(file: Path, *arguments: str) -> tuple[subprocess.Popen[str], Callable[[], None]]:
    """A run that has begun to read an empty file, and what lets it go on."""
    file.touch()
    site = file.parent.with_name(f"{file.parent.name}-site")
    site.mkdir()
    pipe = site / "pipe"
    os.mkfifo(pipe)
    (site / "sitecustomize.py").write_text(WAITING.format(name=file.name, pipe=str(pipe)))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        process = start(file.parent, *arguments, first=_heeds_ctrl_c)
    opened, ended = threading.Event(), threading.Event()

    def write() -> None:
        with open(pipe, "wb"):
            opened.set()
            ended.wait(60)

    threading.Thread(target=write, daemon=True).start()
    assert opened.wait(60)
    return process, ended.set


def _heeds_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# --- disks --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
@pytest.mark.parametrize("command", [["check"], ["rules"], ["show"]])
def test_a_full_standard_output_is_one_line(project: Path, command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = run(project, *command, *([] if command == ["rules"] else ["m00.py"]), stdout=full.fileno())
    assert (ended.returncode, ended.stderr) == (2, "error: standard output: No space left on device\n")


def test_fixes_on_a_full_disk_leave_every_file_as_it_was(project: Path, full_disk: Callable[[], None]) -> None:
    before = _texts(project)
    ended = run(project, "check", "--fix", ".", first=full_disk)
    assert ended.returncode == 2
    assert ended.stderr.count("cannot be written: File too large") == FILES, ended.stderr
    assert _texts(project) == before


@pytest.mark.parametrize(
    "command",
    [
        ("--output-format", "json", ".", "--output-file"),
        ("show", "m00.py", "--html"),
    ],
    ids=lambda command: command[0],
)
def test_a_report_on_a_full_disk_is_not_half_a_report(
    project: Path, command: tuple[str, ...], full_disk: Callable[[], None]
) -> None:
    (project / "report").write_text("before")
    ended = run(project, *command, "report", first=full_disk)
    assert (ended.returncode, ended.stderr) == (2, "error: report: cannot be written: File too large\n")
    assert (project / "report").read_text() == "before"
    assert not [path for path in project.iterdir() if path.name.startswith(".devlint-")]


def test_a_reader_that_has_had_enough_hears_no_complaint(project: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = run(project, ".", stdout=writing)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, "")


# --- signals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_the_run_and_leaves_files_alone(project: Path, jobs: str) -> None:
    before = _texts(project)
    process, _ = _waits_for(project / "a.py", "check", "--fix", "--jobs", jobs, "a.py", *sorted(before))
    process.send_signal(signal.SIGINT)
    ended = end(process)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "Traceback" not in ended.stderr
    (project / "a.py").unlink()
    assert _texts(project) == before


# --- files that come and go ---------------------------------------------------------------------------------


def test_a_file_that_vanishes_costs_only_itself(project: Path) -> None:
    process, go_on = _waits_for(project / "a.py", "check", "--output-format", "concise", "a.py", "m00.py", "m01.py")
    (project / "m00.py").unlink()
    go_on()
    ended = end(process)
    assert ended.returncode == 2
    assert "m00.py: cannot be read: No such file or directory" in ended.stderr
    assert ended.stdout.startswith("m01.py:2:5: DEV101")


def test_links_in_a_circle_are_walked_once(project: Path) -> None:
    inner = project / "package" / "inner"
    inner.mkdir(parents=True)
    (inner / "back").symlink_to(project)
    (inner / "itself").symlink_to(inner / "itself")
    (project / "again.py").symlink_to(project / "m00.py")
    ended = run(project, "--output-format", "concise", ".")
    assert ended.returncode == 1
    assert ended.stdout.count("DEV101") == FILES


def test_runs_at_the_same_time_agree(project: Path) -> None:
    arguments = ("--output-format", "concise", ".")
    ended = [end(process) for process in [start(project, *arguments) for _ in range(4)]]
    assert {(one.returncode, one.stdout) for one in ended} == {(1, ended[0].stdout)}
    assert run(project, *arguments).stdout == run(project, "--no-cache", *arguments).stdout == ended[0].stdout


@pytest.mark.long
def test_a_hundred_thousand_files(tmp_path: Path) -> None:
    for number in range(1000):
        folder = tmp_path / f"package{number}"
        folder.mkdir()
        for other in range(100):
            (folder / f"m{other}.py").write_text(f"x = {number}\n")
    (tmp_path / "last.py").write_text(MIXED)
    ended = run(tmp_path, "--output-format", "concise", ".")
    assert ended.stdout.startswith("last.py:2:5: DEV101")
    assert "in 100001 files" in ended.stderr
