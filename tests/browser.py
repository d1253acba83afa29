"""A real browser without a window, where this machine has one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
).split()


def document_after_scripts(page: Path, profile: Path, *, fragment: str = "") -> str:
    """The page's HTML once its scripts have run; skips the test where there is no browser."""
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(_NAMES)} is installed")
    done = subprocess.run(
        [browser, *_QUIET, f"--user-data-dir={profile}", "--dump-dom", f"{page.as_uri()}{fragment}"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
