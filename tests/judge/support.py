"""Says where the judge works, and makes tests that need it skip or fail elsewhere."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys


@functools.cache
def supported() -> str | None:
    """None where the judge works, else why it does not."""
    if not hasattr(os, "fork"):
        return f"the judge forks for each program, which {sys.platform} cannot"
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    from devlint_guard.rehearsal import available

    return available() or None


def require_judge() -> None:
    """Skips the calling test, or test file, where the judge does not work; fails it where CI is set."""
    import pytest  # the judge also works without it

    reason = supported()
    if reason is None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"the judge must not be missing in CI: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
