"""No small file takes all time or memory: work grows with a file, and what would not end is stopped with a sentence."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from devlint.analysis.execution import steps
from devlint.diagnostics import Diagnostic
from devlint.inspector import Batch, Inspector, internal_error
from devlint.settings import Configuration, Settings

from tests.robustness.constructs import CONFLICT, CONSTRUCTS, HEAD
from tests.robustness.growth import calls, check, grows_too_fast, load, measure, problem_of, seconds, takes_too_long

MOST_SECONDS = 20.0
"""Of the processor, on a busy machine; each of these took minutes or hours, or all memory."""

BLOWN_UP = {
    "list that holds itself twice": 20,
    "lists of the lists before": 30,
    "tuple that holds itself twice": 40,
    "dict that holds itself twice": 20,
    "module of modules": 15,
    "module of a class": 20,
    "partial of partials": 30,
    "nested for": 14,
    "nested while": 14,
    "nested for over few": 14,
    "comprehension in a comprehension": 14,
    "text added to itself": 28,
    "text formatted by itself": 12,
    "list added to itself": 28,
    "number times itself": 40,
    "test and itself": 40,
    "long number": 200,
    "calls": 200,
    "operands": 400,
    "and": 400,
    "elif": 1_000,
    "match": 1_000,
    "text pieces": 700,
    "text of pieces with fields": 3_000,
    "import of a long path": 700,
    "noqa in one comment": 1_000,
    "a cell of blanks": 500,
    "blanks before a fence": 200,
}
"""How much of a construct was too much."""

QUICK = (
    "list that holds itself twice", "nested for that changes names", "many comprehensions",
    "comprehension of many conditions", "assignments", "elif", "match", "try", "with items", "functions that call",
    "attributes of self", "calls", "operands", "and of tests", "stores by attribute",
    "text pieces", "noqa", "reports that are silenced", "cells", "fences",
)  # fmt: skip
"""The constructs that are measured each time; all of them are by `pytest -m long`."""


@pytest.mark.parametrize("name", BLOWN_UP)
def test_a_small_file_takes_little_time_and_its_conflict_is_found(name: str) -> None:
    construct = CONSTRUCTS[name]
    start = time.process_time()
    found = check(construct, construct.make(BLOWN_UP[name]))
    assert time.process_time() - start < MOST_SECONDS
    assert problem_of(construct, found) == ""


@pytest.mark.parametrize("name", QUICK)
def test_work_grows_with_the_construct(name: str) -> None:
    growth = measure(name, calls, 0.04)
    assert not growth.problem, growth
    assert not grows_too_fast(growth), growth


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_time_grows_with_the_construct(name: str) -> None:
    growth = measure(name, seconds)
    assert not growth.problem, growth
    assert not takes_too_long(growth), growth


def test_there_are_programs_of_each_construct() -> None:
    """All kinds of statements and expressions of the language are measured."""
    nodes = {
        type(node)
        for construct in CONSTRUCTS.values()
        if construct.name.endswith(".py")
        for node in ast.walk(ast.parse(construct.make(3)))
    }
    left_out = {ast.AsyncFor, ast.AsyncWith, ast.Continue, ast.Nonlocal, ast.YieldFrom, ast.Set, ast.SetComp,
                ast.DictComp, ast.GeneratorExp}  # fmt: skip  # as `for`, `with`, `break`, `global`, `yield`, `[…]`
    kinds = {kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, (ast.stmt, ast.expr))}
    current = {
        kind for kind in kinds if kind.__module__ in ("ast", "_ast") and kind._fields and not kind.__subclasses__()
    }
    old = {kind for kind in current if kind.__name__ in _OLD or kind.__name__ in _NEW}
    assert current - old - left_out <= nodes


_OLD = frozenset("Num Str Bytes NameConstant Ellipsis".split())
_NEW = frozenset("TryStar TypeAlias TemplateStr Interpolation".split())


# --- the limit on steps -------------------------------------------------------------------------------------


def _inspected(folder: Path, *names: str) -> list[tuple[Diagnostic, ...]]:
    batch = Batch(folder, Configuration(None, folder), tuple(folder / name for name in names))
    return [found.diagnostics for found in Inspector(Settings((".",), isolated=True), load).inspect(batch)]


def test_what_takes_too_long_is_stopped_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_STEPS", 500)
    (tmp_path / "long.py").write_text(HEAD + "x = 1\n" * 2_000)
    (tmp_path / "short.py").write_text(f"{HEAD}{CONFLICT}\n")
    (long,), short = _inspected(tmp_path, "long.py", "short.py")
    assert (long.code, long.place.line) == ("DEV903", 1)
    assert long.message == "the analysis was stopped after 500 steps, so the file is not checked"
    assert long.advice is not None
    assert "bug" not in long.advice
    assert "DEV101" in [found.code for found in short]


def test_an_import_that_takes_too_long_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_STEPS", 500)
    (tmp_path / "long.py").write_text(HEAD + "x = 1\n" * 2_000 + "def made(): return torch.zeros(3)\n")
    (tmp_path / "uses.py").write_text(f"{HEAD}from long import made\nmade()\n{CONFLICT}\n")
    for order in (("uses.py", "long.py"), ("long.py", "uses.py")):
        found = dict(zip(order, _inspected(tmp_path, *order), strict=True))
        assert [one.code for one in found["long.py"]] == ["DEV903"]
        assert "DEV101" in [one.code for one in found["uses.py"]]


# --- errors -------------------------------------------------------------------------------------------------


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RecursionError


@pytest.mark.parametrize("error", [_UnspeakableError(), KeyError("a" * 100_000)])
def test_an_error_that_cannot_be_shown_is_reported_all_the_same(error: Exception) -> None:
    found = internal_error(1, "a.py", "rules", error)
    assert found.code == "DEV903"
    assert len(found.message) < 1_000
