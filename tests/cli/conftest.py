"""The command line in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.stand_in import Shell


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path, monkeypatch)
