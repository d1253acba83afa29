"""The page of the guard: the program prints what stands below it, and every option is explained."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from devlint_guard import MetaTensorError, guard

from tests.conftest import REPOSITORY
from tests.guard.pretended import explained
from tests.judge import Judge


def _section() -> str:
    return (REPOSITORY / "runtime_guard" / "guard.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", _section(), flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_program_prints_what_is_shown(judge: Judge) -> None:
    ended = explained(judge, _block("python"), devices=1)
    assert ended.verdict.exception == "RuntimeError"
    (note,) = ended.notes
    assert re.sub(r"[^\s(]*program\.py:", "program.py:", note) == _block("console").strip()


def test_the_program_without_a_gpu_ends_as_is_told(tmp_path: Path) -> None:
    code = _section().partition("\nWithout a GPU")[2].partition("```python\n")[2].partition("```")[0]
    file = tmp_path / "program.py"
    file.write_text(code, encoding="utf-8")
    with pytest.raises(MetaTensorError, match=r"`self\.table` is on meta"):
        exec(compile(code, str(file), "exec"), {"__name__": "__main__"})


def test_every_option_is_explained() -> None:
    options = set(inspect.signature(guard).parameters) - {"modules"}
    assert {one for one in options if f"`{one}=" not in _section()} == set()
