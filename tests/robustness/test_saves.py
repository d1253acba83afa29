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


@pytest.mark.parametrize("manner", saver.MANNERS)
def test_no_save_is_lost_while_fixes_are_written(tmp_path: Path, manner: str) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for number in range(FILES):
        (tmp_path / f"m{number:02}.py").write_text(MIXED)
    arguments = [sys.executable, saver.__file__, str(tmp_path), manner, str(FILES)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, encoding="utf-8") as editor:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "ready\n"
        ended = end(start(tmp_path, "--fix", "--no-cache", "."))
        editor.terminate()
        saved = editor.stdout.read().split()
    lost = [name for name in saved if saver.MARK.decode() not in (tmp_path / name).read_text()]
    assert len(saved) >= FILES // 3, ended.stderr
    assert lost == []
