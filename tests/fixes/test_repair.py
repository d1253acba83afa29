"""Edits are made only in the content that they were made for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from devlint import engine
from devlint.diagnostics import Diagnostic
from devlint.facts import FileFacts
from devlint.inspector import Tools, load_tools
from devlint.selection import Rules
from devlint.settings import Settings

from tests.robustness.commands import MIXED


def _loading(saved: Callable[[], None]) -> Tools:
    """The tools of a run in which an editor saves the file as soon as it has been checked."""
    tools = load_tools()

    def check(text: str, display: str, facts: FileFacts, busy: Rules) -> list[Diagnostic]:
        found = tools.check(text, display, facts, busy)
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
