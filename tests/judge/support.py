"""Says where the judge works, and makes tests that need it skip or fail elsewhere."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import runpy
import sys
from pathlib import Path

TORCH_RELEASE = "2.13.0"


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
    _require(supported())


@functools.cache
def pretending_supported() -> str | None:
    """None when CUDA devices can be pretended here, else why they cannot; does not import torch."""
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "AMD64"):
        return f"devices are pretended on x86-64 Linux only, not on {platform.machine()} {sys.platform}"
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return "torch is not installed"
    build = runpy.run_path(str(Path(spec.origin).parent / "version.py"))
    version = str(build["__version__"])
    if version.partition("+")[0] != TORCH_RELEASE:
        return f"devices are pretended in torch {TORCH_RELEASE} only, not in {version}"
    if any(build.get(backend) is not None for backend in ("cuda", "hip", "xpu")):
        return f"devices are pretended in a CPU build of torch only, not in {version}"
    if importlib.util.find_spec("torchgen") is None:
        return "torchgen, which ships with torch, is not installed"
    return None


def require_pretended() -> None:
    """The same where devices cannot be pretended."""
    _require(pretending_supported())


def _require(reason: str | None) -> None:
    import pytest  # the judge also works without it

    if reason is None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"the judge must not be missing in CI: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
