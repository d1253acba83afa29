"""Which comments silence which diagnostics."""

from __future__ import annotations

import pytest
from devlint.diagnostics import Certainty, Diagnostic, Place, Severity, Silencer
from devlint.registry import load_rules
from devlint.selection import covering
from devlint.suppressions import read_suppressions
from hypothesis import given
from hypothesis import strategies as st

COVERS = covering(tuple(rule.declaration() for rule in load_rules()))


def _diagnostic(line: int, end_line: int | None = None) -> Diagnostic:
    place = Place("a.py", line, 1, end_line or line, 2)
    return Diagnostic("DEV101", "mixed-device-operands", Severity.ERROR, Certainty.CERTAIN, "m", place)


def _silenced(text: str, line: int, end_line: int | None = None) -> bool:
    kept, _, _ = read_suppressions(text).apply([_diagnostic(line, end_line)], COVERS)
    return not kept


@pytest.mark.parametrize(
    ("comment", "silences"),
    [
        ("# devlint: ignore", True),
        ("# devlint: ignore[DEV101]", True),
        ("# devlint: ignore[dev101]", True),
        ("# devlint: ignore[DEV1]", True),
        ("# devlint: ignore[ALL]", True),
        ("# devlint: ignore[mixed-device-operands]", True),
        ("# devlint: ignore[DEV301, DEV101] reason, with words", True),
        ("# devlint: ignore [DEV101]: reason", True),
        ("#devlint:ignore[DEV101]", True),
        ("# type: ignore  # devlint: ignore[DEV101]  # noqa: E501", True),
        ("# devlint: ignore because the host has one device", True),
        ("# devlint: ignore[DEV301]", False),
        ("# devlint: ignore[]", False),
        ("# devlint: ignore[DEV101", False),
        ("# devlint: ignore (known-good hardware)", False),
        ("# devlint: ignore DEV101", False),
        ("# devlint: ignore dev101", False),
        ("# devlint: ignore: DEV101", False),
        ("# devlint: ignore=DEV101", False),
        ("# devlint: ignore(DEV101)", False),
        ("# devlint: ignore mixed-device-operands", False),
        ("# devlint: ignore XYZ101", False),
        ("# devlint: ignore[[DEV101]]", False),
        ("# devlint: Ignore[DEV101]", False),
        ("# DEVLINT: ignore[DEV101]", False),
        ("# devlint: ignores[DEV101]", False),
        ("# devlint: disable=DEV101", False),
        ("# devlint: ignored", False),
        ("# devlint: ignore-fil", False),
        ("# devlint: ignore-line", False),
        ("# type: ignore", False),
        ("# noqa", True),
        ("# NOQA", True),
        ("#noqa", True),
        ("# noqa: DEV101", True),
        ("# noqa:DEV101", True),
        ("# noqa : DEV101", True),
        ("# noqa: E501,DEV101", True),
        ("# noqa: E501 DEV101", True),
        ("# noqa: dev1", True),
        ("# noqa: E501", False),
        ("# noqa: DEV1O1", False),
        ("# noqa: DEV1O1, DEV101", True),
        ("# noqa: see below", False),
        ("# noqa-block", False),
        ("# noqanything", False),
    ],
)
def test_comment_at_the_end_of_the_line(comment: str, silences: bool) -> None:
    assert _silenced(f"x = 1  {comment}\ny = 2\n", 1) is silences
    assert not _silenced(f"x = 1  {comment}\ny = 2\n", 2)


def test_words_inside_strings_silence_nothing() -> None:
    assert not _silenced('x = "# devlint: ignore"\n', 1)
    assert not _silenced('x = """\n# noqa\n"""\n', 1, 3)


STATEMENT = "x = f(\n    a,\n    b,\n)\ny = 1\n"


@pytest.mark.parametrize(
    ("commented", "reported", "silences"),
    [(1, 1, True), (2, 2, True), (4, 2, True), (4, 1, True), (2, 3, False), (1, 3, False), (5, 2, False)],
)
def test_in_a_statement_of_several_lines_the_reported_line_and_the_last_one_count(
    commented: int, reported: int, silences: bool
) -> None:
    lines = STATEMENT.split("\n")
    lines[commented - 1] += "  # devlint: ignore[DEV101]"
    assert _silenced("\n".join(lines), reported) is silences


def test_the_head_of_a_block_ends_with_its_colon() -> None:
    text = "if f(\n    a\n):  # devlint: ignore\n    b\n    c  # devlint: ignore\n"
    assert _silenced(text, 2)
    assert not _silenced(text, 4)


def test_the_last_line_of_the_reported_stretch_counts() -> None:
    assert _silenced("with a:\n    b\n    c  # devlint: ignore\n", 1, 3)


def test_a_whole_file() -> None:
    assert _silenced("x = 1\n\n# devlint: ignore-file[DEV101] generated\n", 1)
    assert _silenced("# devlint: ignore-file\nx = 1\n", 2)
    assert not _silenced("# devlint: ignore-file[DEV3]\nx = 1\n", 2)


@pytest.mark.parametrize("tool", ["ruff", "flake8"])
@pytest.mark.parametrize(
    ("codes", "silences"), [("", True), (": DEV101", True), (": E501 DEV1", True), (": E501", False)]
)
def test_a_whole_file_by_the_comments_of_other_linters(tool: str, codes: str, silences: bool) -> None:
    comment = f"# {tool}: noqa{codes}"
    assert _silenced(f"x = 1\n{comment}\n", 1) is silences
    assert _silenced(f"if x:\n    {comment}\n    y = 1\n", 1) is silences
    assert not _silenced(f"x = 1  {comment}\n", 1), "ruff ignores such a comment behind code"


def test_used_suppressions_are_told_from_idle_ones() -> None:
    suppressions = read_suppressions("a  # devlint: ignore[DEV101] why\nb  # devlint: ignore[DEV302]\nc  # noqa\n")
    kept, silenced, used = suppressions.apply([_diagnostic(1), _diagnostic(2)], COVERS)

    assert [diagnostic.place.line for diagnostic in kept] == [2]
    assert [(one.diagnostic.place.line, one.by, one.reason) for one in silenced] == [(1, Silencer.COMMENT, "why")]
    assert [(entry.line, entry.column, entry.text, selector) for entry, selector in used] == [
        (1, 4, "# devlint: ignore[DEV101]", "DEV101")
    ]
    assert len(suppressions.found) == 3


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# devlint: ignore[DEV101] two GPUs, always", "two GPUs, always"),
        ("# devlint: ignore[DEV101]: two  # noqa", "two"),
        ("# devlint: ignore-file -- generated", "generated"),
        ("# devlint: ignore[DEV101]  # noqa: E501", ""),
        ("# noqa: DEV101 two GPUs", "two GPUs"),
        ("# noqa: DEV101", ""),
    ],
)
def test_the_words_behind_it_are_its_reason(comment: str, reason: str) -> None:
    assert read_suppressions(f"x  {comment}\n").found[0].reason == reason


def test_text_that_breaks_off_keeps_what_came_before() -> None:
    assert _silenced("x  # noqa\ny = (\n", 1)
    assert _silenced("x  # noqa\n  y\n z\n", 1)


@given(st.text(alphabet="ab #:[]\"'\n\\(){}noqadevlint: ignore[DEV101]\t\x0c\r", max_size=80))
def test_no_text_makes_it_raise(text: str) -> None:
    read_suppressions("# noqa\n" + text).apply([_diagnostic(1), _diagnostic(2)], COVERS)
