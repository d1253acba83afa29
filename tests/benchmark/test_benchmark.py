"""The benchmark says what a command takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmark.__main__ import main
from tests.benchmark.measure import Cost, Row, lines_in, measured, parsing, python_files, table


def test_a_command_is_measured_with_its_processes(tmp_path: Path) -> None:
    busy = "import time; x = [0] * 5_000_000; t = time.process_time()\nwhile time.process_time() - t < 0.2: pass"
    nested = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {busy!r}]).returncode + 3)"
    cost = measured([sys.executable, "-c", nested], cwd=tmp_path)
    assert cost.code == 3
    assert cost.cpu >= 0.2
    assert cost.seconds >= 0.2
    assert cost.memory > 40


def test_parsing_goes_on_behind_a_file_that_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = (\n")
    (tmp_path / "b.py").write_text("x = 1\ny = 2\n")
    files = python_files(tmp_path)
    assert (len(files), lines_in(files)) == (2, 3)
    assert parsing(files, tmp_path).code == 0


def test_the_table_has_the_ratio_to_the_reference() -> None:
    rows = [Row("devlint", "1.2", Cost(2.0, 3.0, 51.2, 0))]
    assert list(table(rows, 0.5))[-1] == "| devlint | 1.2 | 2.00 | 3.00 | 51 | 6.0 |"


def test_without_a_folder_it_says_what_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
