"""Edits change what they name and nothing else, whatever the encoding and the line ends."""

from __future__ import annotations

import codecs

import pytest
from devlint.decoding import decode
from devlint.diagnostics import Edit, Place
from devlint.errors import SourceError
from devlint.fixes import apply, apply_to_bytes
from devlint.fixes.applying import moved
from hypothesis import given
from hypothesis import strategies as st


def _edit(line: int, column: int, end_line: int, end_column: int, text: str) -> Edit:
    return Edit(Place("a.py", line, column, end_line, end_column), text)


def test_edits_replace_insert_and_delete() -> None:
    edits = [_edit(1, 1, 1, 1, "# "), _edit(1, 3, 1, 4, "y"), _edit(2, 1, 3, 1, "")]
    assert apply("a x\nb\nc", edits) == "# a y\nc"


def test_columns_count_characters() -> None:
    assert apply("é = '𐍈'; b = 1\n", [_edit(1, 10, 1, 11, "c")]) == "é = '𐍈'; c = 1\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_inserted_lines_end_like_their_neighbours(end: str) -> None:
    text = end.join(["a", "b", "c"])
    assert apply(text, [_edit(2, 1, 2, 1, "new\n")]) == end.join(["a", "new", "b", "c"])
    assert apply(text, [_edit(3, 2, 3, 2, "\nnew")]) == end.join(["a", "b", "c", "new"])


@pytest.mark.parametrize(
    "edits",
    [
        [_edit(5, 1, 5, 1, "x")],
        [_edit(1, 9, 1, 9, "x")],
        [_edit(2, 1, 1, 1, "x")],
        [_edit(1, 2, 1, 4, "x"), _edit(1, 3, 1, 3, "y")],
    ],
)
def test_edits_that_do_not_fit_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match=r"line \d, column \d"):
        apply("abcd\nefgh\n\n", edits)


def test_positions_move_with_the_text() -> None:
    text = "a = 1\nb(x)\n"
    edits = [_edit(1, 1, 1, 2, "long"), _edit(2, 1, 2, 1, "x = 2\n"), _edit(2, 3, 2, 3, "y, ")]
    assert moved(text, edits, 1, 1) == ((1, 1),)
    assert moved(text, edits, 1, 5) == ((1, 8),)
    assert moved(text, edits, 2, 1) == ((2, 1), (3, 1))
    assert moved(text, edits, 2, 3) == ((3, 3), (3, 6))
    assert moved(text, edits, 2, 4) == ((3, 7),)


ENCODINGS = {
    "utf-8": b"",
    "utf-8-sig": b"",
    "latin-1": b"# -*- coding: latin-1 -*-\n",
    "cp1252": b"# vim: set fileencoding=cp1252 :\n",
    "shift_jis": b"# coding: shift_jis\n",
}


def _encoded(encoding: str, text: str) -> bytes:
    mark = codecs.BOM_UTF8 if encoding == "utf-8-sig" else b""
    return mark + ENCODINGS[encoding] + text.encode(encoding.removesuffix("-sig"), "ignore")


@st.composite
def _documents(draw: st.DrawFn) -> tuple[str, bytes]:
    encoding = draw(st.sampled_from(sorted(ENCODINGS)))
    lines = draw(st.lists(st.text("ab\t \féß形#'", max_size=6), min_size=1, max_size=6))
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=len(lines), max_size=len(lines)))
    if draw(st.booleans()):
        ends[-1] = ""
    return encoding, _encoded(encoding, "".join(line + end for line, end in zip(lines, ends, strict=True)))


@given(_documents(), st.data())
def test_bytes_outside_an_edit_stay(document: tuple[str, bytes], data: st.DataObject) -> None:
    """Each edit is undone in the result by its own length, and what is left is the original."""
    encoding, before = document
    lines = decode(before, "a.py").split("\n")
    line = data.draw(st.integers(2 if ENCODINGS[encoding] else 1, len(lines)))
    column = data.draw(st.integers(1, len(lines[line - 1]) + 1))
    end_column = data.draw(st.integers(column, len(lines[line - 1]) + 1))
    after = apply_to_bytes(before, [_edit(line, column, line, end_column, "@@")], "a.py")
    plain = encoding.removesuffix("-sig")
    old = lines[line - 1][column - 1 : end_column - 1].encode(plain)

    at = after.index(b"@@")
    assert before == after[:at] + old + after[at + 2 :]


@pytest.mark.parametrize("text", ["\n\n", "import torch\nx = 1\n", "# coding: latin-1\n"])
def test_an_edit_that_changes_the_encoding_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="the fixed text would not be cp1252 any more"):
        apply_to_bytes(b"# coding: cp1252\nx = 1\n", [_edit(1, 1, 1, 1, text)], "a.py")


def test_an_encoding_that_does_not_give_the_bytes_back_is_left_alone() -> None:
    data = b"# coding: utf-7\nx = '+AGEAYg-'\n"
    assert decode(data, "a.py").endswith("x = 'ab'\n")
    with pytest.raises(SourceError, match="cannot be fixed: utf-7"):
        apply_to_bytes(data, [_edit(2, 1, 2, 2, "y")], "a.py")
