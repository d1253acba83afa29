"""`devlint` in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Ended = subprocess.CompletedProcess[str]

MIXED = 'import torch\nx = torch.ones(3, device="cuda:0") + torch.ones(3)\n'
"""One mismatch, which a safe fix settles."""


def start(
    folder: Path, *arguments: str, stdout: int = subprocess.PIPE, first: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    """Starts the command line in a folder.

    Args:
        first: what the process does before it becomes devlint.
    """
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; del sys.path[0]; from devlint.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=first,
    )


def end(process: subprocess.Popen[str]) -> Ended:
    """Waits for the end."""
    out, err = process.communicate(timeout=120)
    return Ended(process.args, process.returncode, out, err)


def run(folder: Path, *arguments: str, stdout: int = subprocess.PIPE, first: Callable[[], None] | None = None) -> Ended:
    """Runs the command line in a folder to its end."""
    return end(start(folder, *arguments, stdout=stdout, first=first))
