"""Advice is followed to the letter: then PyTorch is content, or what it still complains of is reported too."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path

import pytest
from devlint import engine
from devlint.diagnostics import Diagnostic, Place
from devlint.fixes.applying import apply
from devlint.settings import Settings
from devlint_rules.support.moves.module_device import PARAMETERS

from tests.conftest import REPOSITORY, sampled
from tests.expectations import Kind, Program, read
from tests.judge import Judge

FIXTURES = REPOSITORY / "fixtures"
FOLDERS = (
    "rules/mixed_device_operands",
    "rules/input_not_on_module_device",
    "rules/cpu_tensor_in_device_code",
    "tutorials",
)
FILES = [file for folder in FOLDERS for file in sorted((FIXTURES / folder).glob("*.py"))]


def _report(file: Path) -> tuple[Diagnostic, ...]:
    run = engine.run(Settings((str(file),), select=("DEV1",), isolated=True))
    assert not run.problems
    return tuple(run.outcome.diagnostics)


_report_once = cache(_report)
"""The diagnostics of a file that does not change."""


def follow(text: str, diagnostic: Diagnostic) -> str | None:
    """The program with the advised change made; None for advice that leaves the code to the reader."""
    advice, lines = diagnostic.advice or "", text.split("\n")
    at = diagnostic.place.line - 1
    if match := re.fullmatch(r"pass `device=(.*)` to `(.*?)`(?: on line (\d+))?", advice):
        return _with_device(lines, _creation(diagnostic, int(match[3] or at + 1)), match[1])
    if match := re.fullmatch(r"use `(.*)` instead of `(.*)`", advice):
        assert match[2] in lines[at]
        lines[at] = lines[at].replace(match[2], match[1], 1)
    elif match := re.fullmatch(r"(?:in a module, .*; elsewhere )?use `((.*)\.to\(.*\))`", advice):
        _replace_operand(lines, diagnostic, match[2], match[1])
    elif match := re.fullmatch(r"on line (\d+), where `.*` is created, add `(.*)` to `(.*)`", advice):
        made = int(match[1]) - 1
        assert "…" in match[3] or match[3] in lines[made]
        lines[made] = lines[made].rstrip() + match[2]
    elif match := re.fullmatch(r"on line (\d+), add `(.*)` to `(.*)`", advice):
        made = int(match[1]) - 1
        assert match[3] in lines[made]
        lines[made] = lines[made].replace(match[3], match[3] + match[2], 1)
    elif match := re.fullmatch(r"move `(.*)` with `(.*)`", advice):
        _replace_operand(lines, diagnostic, match[1], f"({match[1]}){match[2]}")
    elif match := re.fullmatch(r"move .*: `(.*)`", advice):
        lines.insert(at, lines[at][: len(lines[at]) - len(lines[at].lstrip())] + match[1])
    elif diagnostic.fix is not None and diagnostic.fix.message == advice:
        return apply(text, diagnostic.fix.edits)
    else:
        return None
    return "\n".join(lines)


def _replace_operand(lines: list[str], diagnostic: Diagnostic, old: str, new: str) -> None:
    """Replaces the labelled operand that reads `old`."""
    for place in (label.place for label in diagnostic.labels):
        line = lines[place.line - 1]
        if line[place.column - 1 : place.end_column - 1] == old:
            lines[place.line - 1] = line[: place.column - 1] + new + line[place.end_column - 1 :]
            return
    raise AssertionError(f"no operand reads {old}")


def _creation(diagnostic: Diagnostic, line: int) -> Place:
    """Where the value to change was created: in that line, by the step that the report tells last."""
    *_, last = (step.place for step in diagnostic.related if step.place.line == line and "created" in step.message)
    return last


def _with_device(lines: list[str], place: Place, device: str) -> str:
    """Gives the call at a place, which is on one line, the device."""
    line = lines[place.line - 1]
    source = line[place.column - 1 : place.end_column - 1]
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    old = [keyword for keyword in call.keywords if keyword.arg == "device"]
    separator = ", " if call.args or call.keywords else ""
    new = f"{source[:-1]}{separator}device={device})"
    if old:
        new = source.replace(ast.get_source_segment(source, old[0].value) or "", device, 1)
    lines[place.line - 1] = line[: place.column - 1] + new + line[place.end_column - 1 :]
    return "\n".join(lines)


def _bad_programs(file: Path, line: int, judge: Judge) -> Iterator[Program]:
    """The bad program around a line; for code that programs share, those that raise there."""
    programs = [program for program in read(file).programs if program.kind is Kind.BAD]
    around = [program for program in programs if program.line <= line <= program.end_line]
    yield from around
    for program in () if around else programs:
        if line in judge.run(file=file, devices=program.devices, call=program.name).stack:
            yield program


@pytest.mark.parametrize("file", sampled(FILES, 9), ids=lambda file: file.relative_to(FIXTURES).as_posix())
def test_following_advice_helps(file: Path, judge: Judge, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8")
    changed = tmp_path / file.name
    useless = []
    for diagnostic in _report_once(file):
        followed = follow(text, diagnostic)
        if followed is None:
            continue
        for program in _bad_programs(file, diagnostic.place.line, judge):
            run = judge.run(followed, file=file, devices=program.devices, call=program.name)
            if run.outcome == "ok":
                continue
            changed.write_text(followed, encoding="utf-8")
            remaining = {found.place.line for found in _report(changed)}
            if run.outcome != "device-error" or not remaining.intersection(run.stack):
                useless.append(f"line {diagnostic.place.line}: {diagnostic.advice}: {run.message}")
    assert useless == []


def _reports() -> list[tuple[Path, Diagnostic]]:
    """The diagnostics of all files, each with its file."""
    return [(file, diagnostic) for file in FILES for diagnostic in _report_once(file)]


def test_most_advice_is_code() -> None:
    found = _reports()
    vague = [d for file, d in found if follow(file.read_text(encoding="utf-8"), d) is None]
    assert len(vague) * 8 < len(found)


def test_advice_names_at_most_one_line() -> None:
    every = [diagnostic.advice or "" for _, diagnostic in _reports()]
    assert any(advice.startswith("on line ") for advice in every)
    assert [advice for advice in every if advice.count("on line ") > 1 or advice.startswith("in line ")] == []


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_layer_has_the_parameter_that_advice_names(name: str) -> None:
    nn = pytest.importorskip("torch").nn
    kind = getattr(nn, name)
    sizes = [2 for one in inspect.signature(kind).parameters.values() if one.default is one.empty] or [2]
    assert isinstance(attrgetter(PARAMETERS[name][1:])(kind(*sizes)), nn.Parameter)
