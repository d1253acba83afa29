"""What devlint does on a terminal: watch files, show how far it is, complete words."""

from __future__ import annotations

import io
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from devlint.cli.progress import PATIENCE, PAUSE, Progress
from devlint.watching import changes

CLASH = 'import torch\nx = torch.ones(3, device="cuda:0") + torch.ones(3)\n'
on_posix = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal there")


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1", **more}


class Watched:
    """A `devlint check --watch` in a folder, read line by line."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "devlint", "check", "--watch", "--output-format", "concise", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def until(self, end: str) -> list[str]:
        """The lines up to the one that begins so."""
        lines: list[str] = []
        while not lines or not lines[-1].startswith(end):
            lines.append(self._lines.get(timeout=60))
        return lines


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Ctrl-C reaches what the test starts, also where a shell has the tests in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@on_posix
@pytest.mark.usefixtures("heeds_ctrl_c")
def test_watch_checks_again_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    watched = Watched(tmp_path, "--select", "DEV101")
    try:
        assert watched.until("note: waiting")[0] == "No mistake found in 1 file."
        (tmp_path / "a.py").write_text(CLASH)
        lines = watched.until("note: waiting")
        assert lines[0] == "note: a.py changed"
        assert lines[1].startswith("a.py:2:5: DEV101")
        (tmp_path / "devlint.toml").write_text("ignor = 1\n")
        assert watched.until("note: waiting")[1].startswith('error: devlint.toml:1: unknown key "ignor"')
        (tmp_path / "devlint.toml").write_text('exclude = ["a.py"]\n')
        assert watched.until("note: waiting")[0] == "note: a.py and 1 more changed"
        (tmp_path / "devlint.toml").unlink()
        assert watched.until("note: waiting")[1].startswith("a.py:2:5: DEV101")
        (tmp_path / "a.py").unlink()
        assert watched.until("note: waiting")[0] == "note: a.py changed"
        watched.process.send_signal(signal.SIGINT)
        assert watched.process.wait(timeout=60) == 0
    finally:
        watched.process.kill()


def test_watch_refuses_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "devlint", "--watch", "-"],
        cwd=tmp_path,
        env=_environment(),
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "error: --watch needs files, not standard input\n")


def test_changes_are_seen_by_time_and_size(tmp_path: Path) -> None:
    file, other = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    steps: Iterator[Callable[[], object]] = iter(
        [lambda: None, lambda: os.utime(file, ns=(1, 1)), lambda: other.write_text("2"), file.unlink]
    )

    def sleep(seconds: float) -> None:
        next(steps)()

    seen = changes(lambda: sorted(tmp_path.iterdir()), sleep=sleep)
    assert [next(seen) for _ in range(4)] == [(), (file,), (other,), (file,)]


def test_a_change_during_the_work_is_seen_after_it(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    for number, changed in zip(range(2), changes(lambda: [file], sleep=lambda seconds: None), strict=False):
        assert changed == ((file,) if number else ())
        file.write_text("more" * (number + 1))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _counted(stream: io.StringIO, step: float) -> str:
    now = iter(step * number for number in range(1000))
    progress = Progress(stream, lambda: next(now))
    for done in range(1, 101):
        progress(done, 100)
    progress.clear()
    return stream.getvalue()


def test_progress_is_one_line_that_is_gone_at_the_end() -> None:
    shown = _counted(Terminal(), step=PATIENCE / 10)
    assert "\n" not in shown
    assert "\r50 of 100 files\x1b[K" in shown
    assert shown.endswith("\r\x1b[K")


def test_progress_of_a_short_run_or_elsewhere_is_nothing() -> None:
    assert _counted(Terminal(), step=PATIENCE / 1000) == ""
    assert _counted(io.StringIO(), step=PATIENCE) == ""
    assert PAUSE < PATIENCE


@on_posix
def test_a_long_run_shows_progress_on_a_terminal_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pty

    for number in range(3):
        (tmp_path / f"f{number}.py").write_text(CLASH)
    program = "from devlint.cli import main, progress\nprogress.PATIENCE = progress.PAUSE = 0.0\nmain()\n"
    command = [sys.executable, "-c", program, "--no-cache", "--jobs", "1", "--select", "DEV101", "."]
    master, slave = pty.openpty()
    done = subprocess.run(command, cwd=tmp_path, env=_environment(), stdout=subprocess.PIPE, stderr=slave, check=False)
    os.close(slave)
    shown = os.read(master, 10000).decode()
    os.close(master)
    piped = subprocess.run(command, cwd=tmp_path, env=_environment(), capture_output=True, check=False)

    assert "\r1 of 3 files\x1b[K\r2 of 3 files\x1b[K\r3 of 3 files\x1b[K\r\x1b[K" in shown
    assert done.stdout == piped.stdout
    assert b"of 3 files" not in piped.stdout + piped.stderr


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("devlint ", {"check", "baseline", "init", "explain", "rules", "facts"}),
        ("devlint ba", {"baseline"}),
        ("devlint check --output-f", {"--output-format", "--output-file"}),
        ("devlint check --output-format sa", {"sarif"}),
        ("devlint explain DEV30", {"DEV301", "DEV302", "DEV303", "DEV304", "DEV305", "DEV306"}),
        ("devlint explain unguarded", {"unguarded-cuda", "unguarded-cuda-index"}),
        ("devlint check --select DEV101,DEV40", {"DEV101,DEV401", "DEV101,DEV402", "DEV101,DEV403"}),
    ],
)
def test_words_are_completed(words: str, wanted: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from devlint.cli import main; main()"],
        env=_environment(
            _DEVLINT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split(" ")) - 1)
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    offered = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert wanted <= offered
    if words[-1] != " ":
        assert offered == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from devlint.cli import main; main()"],
        env=_environment(_DEVLINT_COMPLETE=f"{shell}_source"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "devlint" in done.stdout
    assert f"_DEVLINT_COMPLETE={shell}_complete" in done.stdout
