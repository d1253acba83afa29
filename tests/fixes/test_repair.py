"""Edits are made only in the content that they were made for, and are kept only if they bring no error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from devlint import engine
from devlint.diagnostics import Diagnostic
from devlint.engine import Run
from devlint.facts import FileFacts
from devlint.inspector import Tools, load_tools
from devlint.project import Source
from devlint.selection import Rules
from devlint.settings import Settings

from tests.robustness.commands import MIXED


def _loading(saved: Callable[[], None]) -> Tools:
    """The tools of a run in which an editor saves the file as soon as it has been checked."""
    tools = load_tools()

    def check(source: Source, facts: FileFacts, busy: Rules) -> list[Diagnostic]:
        found = tools.check(source, facts, busy)
        saved()
        return found

    return replace(tools, check=check)


@pytest.mark.parametrize("added", ["# one line more\n", "\r", "x = 1;"])
def test_a_file_that_changes_after_its_check_is_not_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: str
) -> None:
    monkeypatch.chdir(tmp_path)
    later = MIXED.replace("x = ", f"{added}x = ") if added != "\r" else MIXED.replace("\n", "\r\n", 1)
    file = Path("m.py")
    file.write_bytes(MIXED.encode())

    def saved() -> None:
        file.write_bytes(later.encode())

    settings = Settings(("m.py",), select=("DEV101",), isolated=True, fix=True)
    run = engine.run(settings, load=lambda: _loading(saved))
    assert run.changes == ()
    assert [warning.split(": ", 1)[1] for warning in run.warnings] == [
        "the fix of DEV101 is not made: the file has changed since it was checked"
    ]


HARMLESS = """\
import torch

def used(x=None):
    x = torch.ones(3)
    x.to("cuda:0")
    return x + torch.ones(3)

def needed():
    y = torch.ones(3)
    y.to("cuda:0")
    return y + torch.ones(3, device="cuda:0")
"""


def _repaired(folder: Path, *, unsafe: bool) -> Run:
    settings = Settings((str(folder),), select=("DEV1", "DEV2"), isolated=True, fix=True, unsafe_fixes=unsafe)
    return engine.run(settings)


def test_a_fix_that_brings_an_error_is_undone_and_the_others_are_made(tmp_path: Path) -> None:
    """Moves that were thrown away: one is missed later, and on the other one relies code that runs today."""
    (tmp_path / "m.py").write_text(HARMLESS, encoding="utf-8")
    for unsafe in (False, True):
        run = _repaired(tmp_path, unsafe=unsafe)
        (change,) = run.changes
        after = change.after.decode()
        assert 'y = y.to("cuda:0")' in after
        assert "x = x.to" not in after
        # Without being asked for unsafe ones, devlint tries no fix that it cannot vouch for.
        reasons = [warning.partition(": ")[2].split(" in ")[0] for warning in run.warnings]
        assert reasons == (["the fix of DEV203 is not made: after it, devlint reports DEV101"] if unsafe else [])


def test_an_error_that_a_fix_brings_in_another_file_undoes_it(tmp_path: Path) -> None:
    (tmp_path / "table.py").write_text(
        "import torch\n\ndef table(n):\n    t = torch.ones(n)\n    t.to('cuda:0')\n    return t\n", encoding="utf-8"
    )
    (tmp_path / "main.py").write_text(
        "import torch\nfrom table import table\n\nprint(table(3) + torch.ones(3))\n", encoding="utf-8"
    )
    run = _repaired(tmp_path, unsafe=True)
    assert run.changes == ()
    (warning,) = run.warnings
    assert "the fix of DEV203 is not made: after it, devlint reports DEV101 in" in warning
    assert warning.endswith("main.py:4; if that line is wrong already, make the change by hand")


def test_a_report_does_not_offer_the_fix_that_was_refused(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(HARMLESS, encoding="utf-8")
    offered = [one.fix is not None for one in engine.run(Settings((str(tmp_path),), isolated=True)).outcome.diagnostics]
    left = _repaired(tmp_path, unsafe=True).outcome.diagnostics
    assert sum(offered) > 1
    assert [(one.code, one.fix) for one in left] == [("DEV203", None)]
