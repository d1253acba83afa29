"""Somebody saves a file while `--fix` is about to replace it: no save is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness import saver
from tests.robustness.commands import MIXED, end, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names cannot be exchanged")

FILES = 30
ENOUGH = FILES // 3
"""So many saves have to meet a fix before the test says anything. How many do in one run, the scheduler decides."""

ROUNDS = 10


@pytest.mark.parametrize("manner", saver.MANNERS)
def test_no_save_is_lost_while_fixes_are_written(tmp_path: Path, manner: str) -> None:
    met = 0
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        saved = fix_while_an_editor_saves(folder, manner)
        met += len(saved)
        assert [name for name in saved if saver.MARK.decode() not in (folder / name).read_text()] == []
        if met >= ENOUGH:
            return
    pytest.fail(f"the editor saved only {met} files while fixes were written")


def fix_while_an_editor_saves(folder: Path, manner: str) -> list[str]:
    """Fixes the files of a new folder while `saver` saves them.

    Returns:
        The names of the files that `saver` has saved.
    """
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    for number in range(FILES):
        (folder / f"m{number:02}.py").write_text(MIXED)
    arguments = [sys.executable, saver.__file__, str(folder), manner, str(FILES)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, encoding="utf-8") as editor:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "ready\n"
        end(start(folder, "--fix", "--no-cache", "."))
        editor.terminate()
        return editor.stdout.read().split()
