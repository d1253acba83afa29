"""What each construct lowers to: the cases are in `cases/`, one file per concept.

A case is a comment that says what it shows, the source, a line `=>` and the expected instructions.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from devlint.frontend.lower import lower
from devlint.frontend.show import ir_text

from tests.frontend.structure import validate

_CASE = re.compile(r"^# (?P<title>.*)\n(?P<source>(?:.*\n)*?)=>\n(?P<expected>(?:(?!# ).*\n)*)", re.MULTILINE)


def _cases() -> list[ParameterSet]:
    found = []
    for path in sorted((Path(__file__).parent / "cases").glob("*.txt")):
        for case in _CASE.finditer(path.read_text(encoding="utf-8")):
            name = f"{path.stem}: {case['title']}"
            found.append(pytest.param(case["source"], case["expected"].strip(), id=name))
    return found


@pytest.mark.parametrize(("source", "expected"), _cases())
def test_case(source: str, expected: str) -> None:
    file = lower(source, "case.py")
    assert ir_text(file.body) == expected
    validate(file, source)


def test_every_case_is_found() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "cases").glob("*.txt")]
    assert len(_cases()) == sum(text.count("\n=>\n") for text in texts) > 30
