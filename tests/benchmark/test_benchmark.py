"""The benchmark says what a command takes, and of which file most others import something."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from devlint import engine
from devlint.settings import Settings

from tests.benchmark.__main__ import DEVLINT, edits, main, most_imported
from tests.benchmark.latency import write_project
from tests.benchmark.measure import Cost, Row, lines_in, measured, parsing, python_files, table
from tests.benchmark.work import Work


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


def test_the_file_most_others_import_from(tmp_path: Path) -> None:
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "__init__.py").write_text("from .norm import Norm\n")
    (tmp_path / "layers" / "norm.py").write_text("class Norm: ...\n")
    (tmp_path / "layers" / "act.py").write_text("def act(x):\n    return x\n")
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(
            "from pkg.layers import Norm\nfrom .layers import Norm\nfrom .layers.act import act\n"
            f"def {name}(x):\n    pass\n"
        )
    assert most_imported(tmp_path) == tmp_path / "layers" / "act.py"


def test_edits_leave_python_and_change_one_thing() -> None:
    text = "import torch\n\n\ndef f(\n    x,\n):\n    return x\n\n\ndef g(x):\n    return x\n"
    found = edits(text)
    assert list(found) == [
        "a comment",
        "a statement in `g`",
        "a keyword parameter of `g`",
        "one more function",
        "one more constant",
        "one more import",
        "another name for `g`",
        "a call",
    ]
    for changed in found.values():
        compile(changed, "changed.py", "exec")
        assert changed != text


def test_the_project_for_latency_has_nothing_to_report_and_one_module_that_nobody_imports(tmp_path: Path) -> None:
    alone = write_project(tmp_path / "project", 12)
    files = python_files(tmp_path / "project")
    assert len(files) == 12 + 1
    assert alone in files
    assert not any(
        f"import {alone.stem}" in path.read_text() or f"{alone.stem} import" in path.read_text() for path in files
    )
    command = [*DEVLINT, "check", "--isolated", "--no-cache", "."]
    assert measured(command, cwd=tmp_path / "project").code == 0


def test_without_a_folder_it_says_what_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err


def test_each_execution_of_a_body_counts(tmp_path: Path) -> None:
    program = "import torch\n\n\ndef alone(x):\n    return x\n\n\n" + (
        "def called(x):\n    return x\n\n\ny = called(torch.ones(3))\n"
    )
    (tmp_path / "run.py").write_text(program)
    work = Work()
    with work.counted():
        engine.run(Settings((str(tmp_path),), jobs=1, isolated=True))
    executions = {body.name: count for body, count in work.bodies.items()}
    assert executions["alone"] == 1 < executions["called"]
    (of_bodies, of_instructions) = work.rows()
    assert of_bodies[1:] == (2, sum(executions.values()), sum(executions.values()) / 2)
    assert of_instructions[1] == sum(work.instructions.values()) > 5
    assert of_instructions[2] > of_instructions[1]
