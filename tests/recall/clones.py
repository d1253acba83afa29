"""Commits of public repositories, unpacked from local clones."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from pathlib import Path


def unpack(clones: Path, repo: str, commit: str, work: Path) -> Path:
    """The Python files of a commit, unpacked once into a folder of their own in `work`, which exists."""
    target = work / f"{repo.replace('/', '+')}-{commit[:12]}"
    if not target.exists():
        clone = clones / repo.replace("/", "+")
        git = clone / "repo" if (clone / "repo").exists() else clone
        archive = ["git", "-C", str(git), "archive", commit, ":(glob)**/*.py"]
        done = subprocess.run(archive, capture_output=True, check=True)
        partial = Path(tempfile.mkdtemp(dir=work))
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            tar.extractall(partial, filter="data")
        partial.rename(target)
    return target
