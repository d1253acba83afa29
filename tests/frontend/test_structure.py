"""Lowering holds for real and for extreme sources, and the validator notices what breaks the rules."""

from __future__ import annotations

import ast
import gc
import warnings
from pathlib import Path
from sysconfig import get_path

import pytest
from devlint.frontend import ir
from devlint.frontend.lower import NestingError, lower, lower_tree

from tests.frontend.structure import StructureError, validate

_SPAN = ir.Span(1, 0, 1, 1)


def _standard_library() -> list[Path]:
    """Some 80 files of Python's own tests, or of the library itself where the tests are not installed."""
    root = Path(get_path("stdlib"))
    found = sorted((root / "test").rglob("*.py"))
    if len(found) < 80:
        found = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts]
    return found[:: -(-len(found) // 80)]


def test_standard_library() -> None:
    lowered = 0
    for path in _standard_library():
        try:
            text = path.read_bytes().decode("utf-8")
            file = lower(text, str(path))
        except (SyntaxError, UnicodeDecodeError):
            continue
        validate(file, text)
        lowered += 1
    assert lowered > 50


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + ")" * 3000,
        "[" * 3000,
        "if a:\n  b\n" + "elif c:\n  d\n" * 20_000,
        "if a:\n  b\n" + "elif c:\n  d\n" * 2_000,
        " + ".join(["a"] * 5_000),
        " + ".join(["a"] * 2_000),
        " < ".join(["a"] * 5_000),
        "not " * 5_000 + "a",
        "a" + ".b()" * 5_000,
        "lambda: " * 1_000 + "a",
        "a if b else " * 5_000 + "c",
        "".join(f"{' ' * depth}if a:\n" for depth in range(90)) + " " * 90 + "b",
        "x = [" + "[1, 2, 3], " * 20_000 + "]",
    ],
    ids=lambda text: f"{text[:8]}…{len(text)}",
)
def test_extreme_sources_are_lowered_or_refused(text: str) -> None:
    refusal: SyntaxError | None = None
    try:
        file = lower(text, "case.py")
    except SyntaxError as error:
        refusal = error
    assert file.registers > 0 if refusal is None else refusal.filename == "case.py"


def test_long_chains_are_lowered_without_recursion() -> None:
    # Built by hand: Python's own parser gives up before lowering would.
    total: ast.expr = ast.Name("a", ast.Load())
    branch: list[ast.stmt] = [ast.Pass()]
    for _ in range(20_000):
        total = ast.BinOp(total, ast.Add(), ast.Name("b", ast.Load()))
        branch = [ast.If(ast.Name("c", ast.Load()), [ast.Pass()], branch)]
    pending: list[ast.AST] = [total, branch[0]]
    while pending:
        node = pending.pop()
        node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        pending.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.expr, ast.stmt)))
    start = ast.copy_location(ast.Expr(total), branch[0])
    file = lower_tree(ast.Module([start, branch[0]], []), "")
    assert file.registers == 60_001
    assert sum(isinstance(i, ir.Binary) for i in file.body) == 20_000
    # Releasing what is nested so deeply must not exhaust the stack either.
    del file, start, branch
    gc.collect()


def test_too_deep_nesting_has_its_own_error() -> None:
    with pytest.raises(NestingError) as caught:
        lower("a" + ".b" * 4_000, "case.py")
    assert isinstance(caught.value, RecursionError)
    assert caught.value.filename == "case.py"


@pytest.mark.parametrize("text", ["a b", "x = '\0'", "'\ud800'", "\tif a:\n b", "f(**a, *b)"])
def test_what_is_not_python_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        lower(text, "case.py")


def test_warnings_of_the_parser_stay_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file = lower("x = '\\d'; y = 1 is 1; z: '\"\\d\"' = 1", "case.py")
    assert file.local_names == {"x", "y", "z"}


@pytest.mark.parametrize(
    ("body", "registers", "complaint"),
    [
        ((ir.Unary(1, "-", 0, _SPAN),), 2, "read before written"),
        ((ir.Anything(0, _SPAN), ir.Anything(0, _SPAN)), 1, "written twice"),
        ((ir.Anything(0, _SPAN),), 2, "not those counted"),
        ((ir.Anything(0, _SPAN._replace(end_column=9)),), 1, "outside"),
        ((ir.Anything(0, ir.Span(1, 1, 1, 0)),), 1, "ends before"),
        ((ir.Anything(0, _SPAN), ir.Store("a", 0, _SPAN)), 1, "stores"),
        (
            (
                ir.Anything(0, _SPAN),
                ir.If(0, (ir.Anything(1, _SPAN),), (), _SPAN),
                ir.Return(1, _SPAN),
            ),
            2,
            "register 1 read before written",
        ),
        ((ir.While(ir.Operand((), 0), (), (), _SPAN),), 0, "operand without its register"),
    ],
)
def test_the_validator_notices(body: ir.Block, registers: int, complaint: str) -> None:
    file = ir.File("", body, frozenset(), frozenset(), frozenset(), registers, _SPAN, {})
    with pytest.raises(StructureError, match=complaint):
        validate(file, "x")
