"""Findings as text: marks stand below what they speak of, and nothing is printed that is not known."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from devlint_guard.finding import Change, Finding, Operand, Place, Role, Step
from devlint_guard.report.text import render, render_all

SOURCE = """\
def forward(self, x):
    mask = torch.full((4, 4), -1.0)

    unrelated = 1
    y = "é" + name; x = layer(x, src_mask=mask)
\treturn x @ w
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "train.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "train.py"


def _finding(file: str) -> Finding:
    history = (Step("created on the CPU by torch.full", Place(file, 2, 12, 2, 36, "Net.forward")),)
    mask = Operand("mask", Role.VARIABLE, "cpu", "float32[4, 4]", "", Place(file, 5, 43, 5, 47), history, blamed=True)
    x = Operand("x", Role.ARGUMENT, "cuda:0", "float32[2, 4]", "", Place(file, 5, 31, 5, 32))
    return Finding(
        "DEV102",
        "`layer` is on cuda:0 and its input `mask` on cpu",
        Place(file, 5, 25, 5, 48, "Net.forward"),
        "net.layers.0",
        "Layer",
        (mask, x),
        "Expected all tensors",
        ("do this", "do that"),
        step=7,
        ranks=(3,),
    )


def test_text(file: str) -> None:
    text = render(_finding(file))
    assert text == (
        "devlint[rank 3]: DEV102 input-not-on-module-device:\n"
        "  `layer` is on cuda:0 and its input `mask` on cpu\n"
        "\n"
        "  --> train.py:5 in Net.forward\n"
        "  2 |     mask = torch.full((4, 4), -1.0)\n"
        '  5 |     y = "é" + name; x = layer(x, src_mask=mask)\n'
        "    |                                           ^^^^ float32[4, 4] on cpu\n"
        "    |                               ^ float32[2, 4] on cuda:0\n"
        "\n"
        "  cause     `mask` created on the CPU by torch.full (train.py:2 in Net.forward)\n"
        "  path      net.layers.0 (Layer), step 7\n"
        "  help      do this\n"
        "  or        do that\n"
        '  silence   with allow("DEV102", reason="…"):'
    )


def test_colour_adds_escape_sequences_only(file: str) -> None:
    plain, coloured = render(_finding(file)), render(_finding(file), colour=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_a_mark_below_a_line_with_a_tab(file: str) -> None:
    operand = Operand("w", Role.VARIABLE, "cpu", "float32[4]", "", Place(file, 6, 13, 6, 14))
    text = render(replace(_finding(file), place=Place(file, 6, 2, 6, 14), operands=(operand,)))
    line, mark = (one.partition("| ")[2] for one in text.splitlines()[4:6])
    assert mark.startswith("\t")
    assert mark.index("^") == line.index("w")


def test_values_without_a_place_have_a_line_of_their_own(file: str) -> None:
    state = Operand("'exp_avg' of net.weight", Role.OPTIMIZER_STATE, "cpu", "float32[4]")
    text = render(replace(_finding(file), operands=(state,)))
    assert "  value     `'exp_avg' of net.weight` (optimizer state, float32[4]) is on cpu\n" in text


def test_without_source_or_module() -> None:
    finding = Finding("DEV101", "a value on cpu meets one on cuda:0", Place("nowhere.py", 3))
    assert render(finding) == (
        "devlint: DEV101 mixed-device-operands: a value on cpu meets one on cuda:0\n"
        "\n"
        "  --> nowhere.py:3\n"
        "\n"
        '  silence   with allow("DEV101", reason="…"):'
    )
    assert "-->" not in render(replace(finding, place=None))


def test_several(file: str) -> None:
    finding = _finding(file)
    assert render_all([finding, finding]) == f"{render(finding)}\n\n{render(finding)}"
    assert render_all([]) == ""
    assert "(4 times)" in render(replace(finding, count=4))
    assert "input-not-on-module-device (suspect):" in render(replace(finding, suspect=True))


def test_a_file_that_cannot_be_read_has_no_lines() -> None:
    finding = Finding("DEV101", "`a` is on cpu and `b` on cuda:0", Place("no\0file.py", 3, 1, 3, 2))
    assert render(finding).splitlines() == [
        "devlint: DEV101 mixed-device-operands: `a` is on cpu and `b` on cuda:0",
        "",
        r"  --> no\x00file.py:3",
        "",
        '  silence   with allow("DEV101", reason="…"):',
    ]


def test_a_long_line_shows_the_part_with_the_marks(file: str) -> None:
    arguments = ", ".join(f"argument_{number}" for number in range(20))
    Path(file).write_text(f"y = first({arguments}, mask)\n", encoding="utf-8")
    column = len(Path(file).read_text(encoding="utf-8")) - 5
    place = Place(file, 1, column, 1, column + 4)
    mask = Operand("mask", Role.VARIABLE, "cpu", "float32[4, 4]", "", place, blamed=True)
    text = render(replace(_finding(file), place=Place(file, 1, 5, 1, column + 5), operands=(mask,)))
    assert max(map(len, text.splitlines())) <= 80
    line, marks = text.splitlines()[4:6]
    assert line[marks.index("^") :].startswith("mask")


def test_the_change_is_a_diff_of_the_users_lines(file: str) -> None:
    place = Place(file, 5, 0, 5)
    before = '    y = "é" + name; x = layer(x, src_mask=mask)'
    change = Change(place, before, before.replace("=mask", "=mask.to(x.device)"))
    exchanged = replace(_finding(file), changes=(change,))
    assert '- y = "é" + name; x = layer(x, src_mask=mask)\n' in render(exchanged)
    assert '+ y = "é" + name; x = layer(x, src_mask=mask.to(x.device))\n' in render(exchanged)
    inserted = replace(_finding(file), changes=(Change(place, before, f"    mask = mask.to(x.device)\n{before}"),))
    assert "            + mask = mask.to(x.device)\n" in render(inserted)
    assert "            - " not in render(inserted)


def test_of_many_steps_both_ends_and_the_changed_line_are_shown(file: str) -> None:
    finding = _finding(file)
    blamed, *others = finding.operands
    steps = tuple(Step(f"step {number}", Place("far.py", number, 1, number, 9)) for number in range(1, 9))
    long = replace(finding, operands=(replace(blamed, history=steps), *others))
    text = render(long)
    assert re.findall(r"`mask` (step \d)|… (\d more steps) …", text) == [
        ("step 1", ""),
        ("step 2", ""),
        ("", "4 more steps"),
        ("step 7", ""),
        ("step 8", ""),
    ]
    change = Change(Place("far.py", 5, 0, 5), "a = b", "a = b.to(x.device)")
    changed = render(replace(long, changes=(change,)))
    assert re.findall(r"`mask` (step \d)|… (\d more steps?) …", changed) == [
        ("step 1", ""),
        ("step 2", ""),
        ("", "2 more steps"),
        ("step 5", ""),
        ("", "2 more steps"),
        ("step 8", ""),
    ]
    few = render(replace(long, operands=(replace(blamed, history=steps[:5]), *others)))
    assert "more step" not in few
