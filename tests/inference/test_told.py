"""The sentences of reports that rest on the inference: one form a rule, on lines that the fixtures show to people.

`headlines.txt` has each sentence; `pytest --accept` rewrites it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from devlint.diagnostics import Diagnostic
from devlint.engine import run
from devlint.settings import Settings

from tests.conftest import REPOSITORY, Expect

FOLDERS = ("showcase", "causes", "tutorials")
WIDEST = 80
"""Columns of a sentence. The first line of a report also has its severity and code, and is to fit there later."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Diagnostic]:
    """The reports on copies of the folders, each a project of its own."""
    found: list[Diagnostic] = []
    for name in FOLDERS:
        folder = tmp_path_factory.mktemp(name)
        for file in sorted((REPOSITORY / "fixtures" / name).glob("*.py")):
            (folder / file.name).write_bytes(file.read_bytes())
        found += run(Settings((str(folder),), isolated=True, engine="inference")).outcome.diagnostics
    return found


def test_each_rule_has_its_sentence(reports: list[Diagnostic], expect: Expect) -> None:
    told = [f"{Path(one.place.file).name}:{one.place.line} {one.code} {one.message}" for one in reports]
    expect(Path(__file__).with_name("headlines.txt"), "\n".join(told) + "\n")


def test_a_sentence_names_no_relation_and_is_short(reports: list[Diagnostic]) -> None:
    for one in reports:
        assert len(one.message) <= WIDEST, one.message
        assert not one.message.endswith("."), one.message
        for phrase in ("the device of", "another device", "needs both", "nowhere", "accelerator"):
            assert phrase not in one.message, one.message


def test_a_report_underlines_operands_inside_of_the_operation(reports: list[Diagnostic]) -> None:
    labelled = [one for one in reports if one.labels and one.code in ("DEV101", "DEV103", "DEV105")]
    assert len(labelled) > len(FOLDERS)
    for one in labelled:
        assert all(one.place.holds(label.place) for label in one.labels), one


def test_an_empty_text_is_no_missing_attribute(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text('import torch\n\ntorch.device("")\n')
    found = run(Settings((str(tmp_path),), isolated=True, engine="inference")).outcome.diagnostics
    assert [one.message for one in found] == ["`''` is not a device: a device is one type and one number"]
