"""Programs of `right_programs`, each on pretended CUDA devices in a process of its own."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from tests.conftest import cannot_run
from tests.judge import Judge

FILE = Path(__file__).with_name("right_programs.py")
TREE = ast.parse(FILE.read_text(encoding="utf-8"))
PROGRAMS = [node.name for node in TREE.body if isinstance(node, ast.FunctionDef) and node.name.startswith("ok_")]
NEEDS = {"ok_offloaded_to_the_cpu": "accelerate", "ok_dispatched_over_devices": "accelerate"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_guard_changes_nothing(judge: Judge, program: str) -> None:
    library = NEEDS.get(program)
    if library is not None and importlib.util.find_spec(library) is None:
        cannot_run(f"{library} is not installed")
    verdict = judge.run(file=FILE, call=program, devices=2, timeout=120, paths=[FILE.parents[2]])
    assert verdict.outcome == "ok", f"{verdict.exception}: {verdict.message}\n{verdict.stdout}"
