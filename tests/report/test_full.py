"""The `full` format, whole reports as a person sees them."""

from __future__ import annotations

from textwrap import dedent

from devlint.diagnostics import Certainty, Diagnostic, Label, Place, Related, Severity
from devlint.report import FORMATS, Outcome, Palette

NET = """\
import torch

def step(net):
    x = torch.zeros(3)
    y = torch.ones(3, device="cuda:0")
    return x + y
"""


def _line(file: str, line: int, text: str, part: str) -> Place:
    start = text.index(part) + 1
    return Place(file, line, start, line, start + len(part))


def _place(part: str, file: str = "net.py", source: str = NET) -> Place:
    """The first line of `source` that holds `part`, and where it stands there."""
    for number, text in enumerate(source.split("\n"), start=1):
        if part in text:
            return _line(file, number, text, part)
    raise AssertionError(part)


def _render(diagnostic: Diagnostic, *, colour: bool = False, **files: str) -> str:
    lines = {name.replace("_py", ".py"): tuple(text.split("\n")) for name, text in files.items()}
    return FORMATS["full"](Outcome((diagnostic,), 1, 0.0, lines), Palette(colour))


def _mixed(place: Place, *labels: Label, related: tuple[Related, ...] = ()) -> Diagnostic:
    return Diagnostic(
        "DEV101",
        "mixed-device-operands",
        Severity.ERROR,
        Certainty.CERTAIN,
        "x is on cpu, y is on cuda:0",
        place,
        labels=labels,
        related=related,
        pytorch="Expected all tensors to be on the same device,\nbut found at least two devices",
        advice="write `x.to(y.device)`",
    )


def _expect(text: str) -> str:
    return dedent(text).lstrip("\n")


def test_the_whole_story() -> None:
    sum_line = NET.split("\n")[5]
    x, y = Place("net.py", 6, 12, 6, 13), Place("net.py", 6, 16, 6, 17)
    diagnostic = _mixed(
        _line("net.py", 6, sum_line, "x + y"),
        Label(x, "cpu"),
        Label(y, "cuda:0"),
        related=(
            Related(_place("torch.zeros(3)"), "x is created on cpu here"),
            Related(_place('torch.ones(3, device="cuda:0")'), "y is created on cuda:0 here"),
        ),
    )

    assert _render(diagnostic, net_py=NET) == _expect(
        """
        error[DEV101]: mixed-device-operands: x is on cpu, y is on cuda:0
         --> net.py:6:12
          |
        6 |     return x + y
          |            ^   ^ cuda:0
          |            |
          |            cpu
          |
        note: x is created on cpu here
         --> net.py:4:9
          |
        4 |     x = torch.zeros(3)
          |         ^^^^^^^^^^^^^^
          |
        note: y is created on cuda:0 here
         --> net.py:5:9
          |
        5 |     y = torch.ones(3, device="cuda:0")
          |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = PyTorch says: Expected all tensors to be on the same device,
            but found at least two devices
          = help: write `x.to(y.device)`

        """
    )


def test_a_story_in_another_file_quotes_that_file_and_line_numbers_align() -> None:
    far = "\n" * 119 + "w = torch.zeros(3)\n"
    diagnostic = _mixed(
        _place("x + y"), related=(Related(Place("lib.py", 120, 5, 120, 19), "x is created on cpu here"),)
    )

    assert _render(diagnostic, net_py=NET, lib_py=far) == _expect(
        """
        error[DEV101]: mixed-device-operands: x is on cpu, y is on cuda:0
           --> net.py:6:12
            |
          6 |     return x + y
            |            ^^^^^
            |
        note: x is created on cpu here
           --> lib.py:120:5
            |
        120 | w = torch.zeros(3)
            |     ^^^^^^^^^^^^^^
            |
            = PyTorch says: Expected all tensors to be on the same device,
              but found at least two devices
            = help: write `x.to(y.device)`

        """
    )


def _short(place: Place, *labels: Label, severity: Severity = Severity.WARNING) -> Diagnostic:
    return Diagnostic("DEV302", "unguarded-cuda-index", severity, Certainty.CERTAIN, "m", place, labels=labels)


def test_labels_hang_below_each_other() -> None:
    text = "torch.cat([a, b, c])"
    labels = [
        Label(_line("n.py", 1, text, name), device)
        for name, device in (("a,", "cpu"), ("b,", "cuda:0"), ("c]", "cuda:1"))
    ]
    assert _render(_short(Place("n.py", 1, 1, 1, 21), *labels), n_py=text) == _expect(
        """
        warning[DEV302]: unguarded-cuda-index: m
         --> n.py:1:1
          |
        1 | torch.cat([a, b, c])
          |            ^^ ^^ ^^ cuda:1
          |            |  |
          |            |  cuda:0
          |            cpu

        """
    )


def test_labels_on_several_lines() -> None:
    text = "f(\n    a,\n    1,\n    2,\n    b,\n)"
    labels = [Label(Place("n.py", 2, 5, 2, 6), "cpu"), Label(Place("n.py", 5, 5, 5, 6), "cuda:0")]
    assert _render(_short(Place("n.py", 1, 1, 6, 2), *labels), n_py=text) == _expect(
        """
        warning[DEV302]: unguarded-cuda-index: m
         --> n.py:1:1
          |
        1 | f(
          | ^^
        2 |     a,
          |     ^ cpu
        ...
        5 |     b,
          |     ^ cuda:0

        """
    )


def test_a_stretch_of_several_lines_shows_its_first_and_last() -> None:
    text = "x = f(\n    a,\n    b\n) + 1"
    assert _render(_short(Place("n.py", 1, 5, 4, 2)), n_py=text) == _expect(
        """
        warning[DEV302]: unguarded-cuda-index: m
         --> n.py:1:5
          |
        1 | x = f(
          |     ^^
        ...
        4 | ) + 1
          | ^

        """
    )


def test_a_label_in_another_file_gets_an_excerpt_of_its_own() -> None:
    label = Label(Place("b.py", 1, 1, 1, 2), "cpu")
    assert _render(_short(Place("a.py", 1, 1, 1, 2), label), a_py="x", b_py="y") == _expect(
        """
        warning[DEV302]: unguarded-cuda-index: m
         --> a.py:1:1
          |
        1 | x
          | ^
         --> b.py:1:1
          |
        1 | y
          | ^ cpu

        """
    )


def test_without_the_source_the_place_remains() -> None:
    assert _render(_mixed(_place("x + y"))) == _expect(
        """
        error[DEV101]: mixed-device-operands: x is on cpu, y is on cuda:0
         --> net.py:6:12
          |
          = PyTorch says: Expected all tensors to be on the same device,
            but found at least two devices
          = help: write `x.to(y.device)`

        """
    )


def test_colour_changes_nothing_but_the_colour() -> None:
    import re

    diagnostic = _mixed(_place("x + y"), related=(Related(_place("torch.zeros(3)"), "here"),))
    coloured = _render(diagnostic, colour=True, net_py=NET)
    assert coloured.startswith("\x1b[1;31merror[DEV101]\x1b[0m: ")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == _render(diagnostic, net_py=NET)


def test_what_steers_a_terminal_is_not_passed_on() -> None:
    text = "x = '\x1b[31m\x07\u202e'"
    diagnostic = Diagnostic(
        "DEV303",
        "invalid-device-string",
        Severity.ERROR,
        Certainty.CERTAIN,
        "no \x1b[2J device",
        Place("\x1b]0;t.py", 1, 1, 1, 2),
        advice="not\x08 this",
    )
    shown = FORMATS["full"](Outcome((diagnostic,), 1, 0.0, {"\x1b]0;t.py": (text,)}), Palette(False))
    assert not set("\x1b\x07\x08\u202e") & set(shown)
    concise = FORMATS["concise"](Outcome((diagnostic,), 1, 0.0, {}), Palette(False))
    assert "\x1b" not in concise
