"""What Jupyter understands beside Python becomes Python of the same lines and columns."""

from __future__ import annotations

import ast

import pytest
from devlint.sources.magics import UNKNOWN, without_magics
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("x = 5 %y", "x = 5 %y"),
        ("x = (5\n%y)", "x = (5\n%y)"),
        ("!pip install torch", "pass"),
        ("!pip install a \\\n  b \\\n  c\nx = 1", "pass\n\n\nx = 1"),
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if a:\n    !ls\n    %cd x", "if a:\n    pass\n    pass"),
        ("files = !ls", f"files = {UNKNOWN}"),
        ("a, b = %sql select 1", f"a, b = {UNKNOWN}"),
        ("%time x = f(1)", "0;    x = f(1)"),
        ("  %time x\n", "  0;    x\n"),
        ("%time f(\n  1)", "0;    f(\n  1)"),
        ("%timeit f(x)", "pass"),
        ("torch.add?", "pass"),
        ("?torch.add\n??f", "pass\npass"),
        ("x.y??  # what", "pass"),
        ("pip install torch\nx = 1", "pass\nx = 1"),
        ("ls = 3\n!a\nls", "ls = 3\npass\nls"),
        ("s = '''\n!no\n%no\n'''\n!yes", "s = '''\n!no\n%no\n'''\npass"),
        ("f(a,\n  '(', # )\n!no)\n!yes", "f(a,\n  '(', # )\n!no)\npass"),
        ("a = b \\\n %c\n!yes", "a = b \\\n %c\npass"),
        ("%%time\nx = 1\n!ls", "\nx = 1\npass"),
        ("\n%%capture out\nx = 1", "\n\nx = 1"),
        ("%%bash\necho 'hi", None),
        ("%%writefile a.py\nx = 1", None),
        ("x = (", "x = ("),
    ],
)
def test_a_cell(cell: str, plain: str | None) -> None:
    assert without_magics(cell) == plain


@given(st.text(alphabet="ab=(){}[]'\"#\\\n !%?.1,", max_size=60))
def test_lines_stay_lines_and_python_stays_python(cell: str) -> None:
    plain = without_magics(cell)

    assert plain is None or plain.count("\n") == cell.count("\n")
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError):
        return
    assert plain == cell
