"""What holds for every fix of every program: nothing outside of it changes, and once is enough."""

from __future__ import annotations

import ast
import contextlib
import re

import pytest
from devlint import engine
from devlint.diagnostics import Edit
from devlint.engine import Run
from devlint.fixes import apply_to_bytes
from devlint.fixes.applying import moved
from devlint.settings import Settings
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY

LARGEST = 4_000
"""Larger fixtures take long and show nothing else."""

FILES = [
    file
    for folder in ("rules", "tutorials", "causes")
    for file in sorted((REPOSITORY / "fixtures" / folder).rglob("*.py"))
    if file.stat().st_size <= LARGEST
]


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    """A fixture as it may have been written elsewhere: a line missing, tabs, other line ends, comments, form feeds."""
    lines = draw(st.sampled_from(FILES)).read_text(encoding="utf-8").split("\n")
    gone = draw(st.none() | st.integers(0, len(lines) - 1))
    if gone is not None:
        fewer = lines[:gone] + lines[gone + 1 :]
        with contextlib.suppress(SyntaxError):
            ast.parse("\n".join(fewer))
            lines = fewer
    if draw(st.booleans()):
        remark = draw(st.integers(0, len(lines)))
        lines.insert(remark, "# \N{GREEK SMALL LETTER PI} \N{GRINNING FACE}")
    if draw(st.booleans()):
        lines = [line.replace("    ", "\t") if not line.strip() or line[0] == " " else line for line in lines]
    page = draw(st.none() | st.integers(0, len(lines) - 1))
    if page is not None:
        paged = [*lines[:page], f"\f{lines[page]}", *lines[page + 1 :]]
        with contextlib.suppress(SyntaxError):
            ast.parse("\n".join(paged))
            lines = paged
    end = draw(st.sampled_from(["\n", "\r\n"]))
    start = draw(st.sampled_from(["", "\N{ZERO WIDTH NO-BREAK SPACE}"]))
    return (start + end.join(lines)).encode()


def _run(data: bytes, *, fix: bool) -> Run:
    return engine.run(Settings(("-",), select=("ALL",), isolated=True, fix=fix, unsafe_fixes=fix), stdin=data)


def _fixed(data: bytes) -> bytes:
    return next((change.after for change in _run(data, fix=True).changes), data)


def _heads(data: bytes) -> dict[tuple[int, int], tuple[str, int]]:
    """Each statement without the statements in it, by line and column, and the last line of that."""
    heads = {}
    text = data.decode("utf-8-sig")
    lines = re.split(r"(?<=\n)", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            inner = [child.lineno for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
            last = min([node.end_lineno or node.lineno, *(max(line - 1, node.lineno) for line in inner)])
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                if hasattr(node, field):
                    setattr(node, field, [])
            column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode()) + 1
            heads[node.lineno, column] = (ast.dump(node), last)
    return heads


def _changes_nothing_else(data: bytes, edits: tuple[Edit, ...]) -> None:
    """Every statement that no edit touches is there afterwards, where the edits leave it."""
    before, after = _heads(data), _heads(apply_to_bytes(data, edits, "a.py"))
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    for (line, column), (head, last) in before.items():
        if not any(edit.place.line <= last and line <= edit.place.end_line for edit in edits):
            places = moved(text, edits, line, column)
            assert head in {after[place][0] for place in places if place in after}


def check(data: bytes) -> None:
    """Hold one program against both laws."""
    for diagnostic in _run(data, fix=False).outcome.diagnostics:
        if diagnostic.fix is not None:
            _changes_nothing_else(data, diagnostic.fix.edits)
    once = _fixed(data)
    if data.decode("utf-8-sig").strip():
        assert (b"\r\n" in once) == (b"\r\n" in data)
    assert _fixed(once) == once


@settings(max_examples=4)
@given(programs())
def test_a_fix_changes_nothing_else_and_needs_no_second_run(data: bytes) -> None:
    check(data)


@pytest.mark.long
@settings(max_examples=300)
@given(programs())
def test_fixes_of_many_programs(data: bytes) -> None:
    check(data)
