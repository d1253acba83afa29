"""Cells mean what IPython makes of them: the same statements, and a value wherever IPython has one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from devlint.sources import program_of
from devlint.sources.magics import UNKNOWN
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sources.notebooks import notebook

inputtransformer = pytest.importorskip("IPython.core.inputtransformer2")

LINES = (
    "x = 1",
    "x = f(1)  # why?",
    "if x:",
    "    y = 2",
    "    !ls {x}",
    "    %time y = f(x)",
    "    z = !ls",
    "def g(a):",
    "    return a",
    "for i in range(3): print(i);",
    "plt.plot(x);",
    "await f(x)",
    "async with f() as h: pass",
    "!ls 'it",
    "!ls \\\n  -a ()",
    "!!ls",
    "files = !ls []",
    "files, more = !!ls",
    "d['a=b'] = !ls",
    "n: int = !ls",
    "x = %time f(1)",
    "x = %timeit -o f(1)",
    "x = %sql select \\\n  1",
    "%matplotlib inline",
    "%time",
    "%time x = f(2)",
    "%timeit f(2)",
    "%load_ext autoreload",
    "?",
    "?x",
    "??x.y",
    "x?",
    "x.y[0]??",
    "%time?",
    "x = y?",
    "print(x).y?",
    "*.read*?",
    "/f x y",
    ",f x y",
    ";f x y",
    "x = y %z",
    "x = y \\\n  + z",
    "x %= 3",
    "f(a=1,\n  b=2)",
    "f(x\n %z)",
    "s = '''",
    "!ls",
    "'''",
    'y = f"{x!r}"',
    "# what?",
    "",
    "   ",
)
"""What cells are put together of.

Only strings may stay open: for IPython, an open bracket, also in a shell line, reaches to a question far below.
"""

CELL_MAGICS = ("", "", "", "", "", "%%time", "%%bash", "%%capture out", "%%html?", "%%time x")
SHAPES = ("{}", "{}", "{}", "    {}", "In [3]: {}", ">>> {}")

cells = st.builds(
    lambda magic, lines, shape: "\n".join(shape.format(line) for line in ([magic] if magic else []) + lines),
    st.sampled_from(CELL_MAGICS),
    st.lists(st.sampled_from(LINES), min_size=1, max_size=7),
    st.sampled_from(SHAPES),
)


def _statements(code: str) -> list[str]:
    """Return the statements of a cell, without those that call IPython and bring nothing, each as text."""
    tree = ast.parse(code)
    if code.startswith("if True:\n"):  # the body is a cell with indentation
        tree.body[:1] = tree.body[0].body  # type: ignore[attr-defined]
    return list(_without_commands(tree))


def _without_commands(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = "".join(node.value.split())  # IPython takes prompts and indentation out of strings, too
        for _, body in ast.iter_fields(node):
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                body[:] = [each for each in map(_plain, body) if not _is_command(each)] or [ast.Pass()]
    for statement in tree.body:
        yield ast.unparse(statement)


def _plain(statement: ast.stmt) -> ast.stmt:
    """Return a statement with the code that `%time` runs in its place, and one name for the results of commands."""
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)) else None
    command = _command(value)
    if command is None or isinstance(statement, ast.Expr):
        timed = command is not None and command[:2] == ("run_line_magic", "time")
        found = ast.parse(command[2]).body if command is not None and timed else []
        return found[0] if len(found) == 1 else statement
    assert isinstance(statement, (ast.Assign, ast.AnnAssign))
    timed = command[:2] == ("run_line_magic", "time")
    statement.value = ast.parse(command[2], mode="eval").body if timed else ast.Name(UNKNOWN)
    return statement


def _command(value: ast.expr | None) -> tuple[str, ...] | None:
    """Return the method of `get_ipython()` that a call is of, and its arguments."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    if ast.unparse(value.func.value) != "get_ipython()":
        return None
    return (value.func.attr, *(ast.literal_eval(each) for each in value.args))


def _is_command(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if not isinstance(statement, ast.Expr):
        return False
    called = isinstance(statement.value, ast.Call) and ast.unparse(statement.value) in ('f("x", "y")', "f('x', 'y')")
    quoted = ast.unparse(statement.value) in ("f('x y')", "f(x, y)")
    return _command(statement.value) is not None or called or quoted or ast.unparse(statement) == "0"


def _by_ipython(cell: str) -> str | None:
    """Return a cell as IPython executes it, None if it refuses it or gives it to another program."""
    try:
        code = str(inputtransformer.TransformerManager().transform_cell(cell))
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    command = _command(tree.body[0].value) if tree.body and isinstance(tree.body[0], ast.Expr) else None
    if command is None or command[0] != "run_cell_magic":
        return code
    return _by_ipython(command[3]) if command[1] in ("time", "capture") and command[3].strip() else None


@given(cells)
@example("    x = 1\n    !ls\n    x?")
@example("x = %time f(1)\n%time y = f(x)")
@example("In [1]: x = 1\n   ...: !ls")
@example(">>> if x:\n...     y = 2\n")
@example("files = !ls \\\n  -a (\nx = 1")
@example("%%time\n    x = 1\n    y = await f(x)")
@settings(max_examples=80, deadline=None)
def test_a_cell_means_what_ipython_makes_of_it(cell: str) -> None:
    wanted = _by_ipython(cell)
    if wanted is None:
        return
    found = "".join(program_of(notebook(cell), "a.ipynb").text)
    assert found.count("\n") == cell.count("\n") + 1 + found.startswith("if True:\n")
    assert _statements(found) == _statements(wanted)


@pytest.mark.long
@given(cells)
@settings(max_examples=5_000, deadline=None)
def test_many_cells_mean_what_ipython_makes_of_them(cell: str) -> None:
    test_a_cell_means_what_ipython_makes_of_it.hypothesis.inner_test(cell)  # type: ignore[attr-defined]
