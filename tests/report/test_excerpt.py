"""Underlines stand below what they mean, whatever the line is made of."""

from __future__ import annotations

import unicodedata

import pytest
from devlint.report.excerpt import MAX_WIDTH, Mark, excerpt
from hypothesis import given
from hypothesis import strategies as st


def _plain(text: str) -> str:
    return text


def _draw(line: str, *marks: Mark) -> list[str]:
    """The source row and the underline rows, without the frame before them."""
    rows = excerpt(marks, lambda number: line, 1, _plain, _plain)
    return [row[4:] for row in rows[1:]]


def _cells(text: str) -> int:
    """How many columns a terminal needs."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.category(character) in ("Mn", "Me", "Cf") for character in text)
    return len(text) + wide - marks


@pytest.mark.parametrize(
    ("line", "start", "end", "shown", "carets"),
    [
        ("\tx + y", 1, 6, "    x + y", "    ^^^^^"),
        ("a\tx", 2, 3, "a   x", "    ^"),
        ("\t\tx\ty", 4, 5, "        x   y", "            ^"),
        ("形 = x", 4, 5, "形 = x", "     ^"),
        ("形状 + x", 0, 2, "形状 + x", "^^^^"),
        ("e\u0301 + x", 5, 6, "e\u0301 + x", "    ^"),
        ("\uff38 = 1", 0, 1, "\uff38 = 1", "^^"),
        ("x", 1, 2, "x", " ^"),
        ("x", 7, 8, "x", "       ^"),
        ("", 0, 1, "", "^"),
    ],
)
def test_tabs_wide_and_combining_characters(line: str, start: int, end: int, shown: str, carets: str) -> None:
    assert _draw(line, Mark(1, start, end)) == [shown, carets]


def test_nested_marks_share_the_carets_and_keep_their_words() -> None:
    line = "f(x) + y"
    assert _draw(line, Mark(1, 0, 8, "both"), Mark(1, 0, 4, "cpu"), Mark(1, 7, 8, "cuda:0")) == [
        line,
        "^^^^^^^^ cuda:0",
        "|",
        "both, cpu",
    ]


@pytest.mark.parametrize("start", [0, 50, 155, 170, 995, 999])
def test_a_very_long_line_is_cut_around_the_mark(start: int) -> None:
    line = "".join(chr(ord("a") + index % 26) for index in range(1000))
    shown, carets = _draw(line, Mark(1, start, start + 1))
    assert len(shown) <= MAX_WIDTH + 2
    assert shown[carets.index("^")] == line[start]


def test_a_mark_wider_than_the_cut_is_clipped() -> None:
    shown, carets = _draw("x" * 1000, Mark(1, 0, 1000, "cpu"))
    assert len(carets) <= len(shown) + len(" cpu")


LINES = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=0, max_size=220) | st.text(
    alphabet="ab \t形e\u0301", max_size=220
)


@given(LINES, st.lists(st.tuples(st.integers(0, 230), st.integers(0, 40)), min_size=1, max_size=4))
def test_any_line_and_any_marks(line: str, stretches: list[tuple[int, int]]) -> None:
    marks = [Mark(1, start, start + length, f"d{index}") for index, (start, length) in enumerate(stretches)]
    shown, *rows = _draw(line, *marks)
    words = " ".join(rows)
    assert all(f"d{index}" in words for index in range(len(marks)))
    assert "\t" not in shown
    assert _cells(shown) <= MAX_WIDTH + 2


@given(st.text(alphabet="ab\t形e\u0301", min_size=1, max_size=60), st.data())
def test_the_caret_stands_below_its_character(line: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(line) - 1))
    before = ""
    for character in line[:index]:
        before += " " * (4 - _cells(before) % 4) if character == "\t" else character
    rows = _draw(line, Mark(1, index, index + 1))
    assert rows[1].index("^") == _cells(before)
