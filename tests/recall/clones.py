"""Commits of public repositories, unpacked from local clones."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

_METADATA = frozenset({"pyproject.toml", "setup.cfg"})


def unpack(clones: Path, repo: str, commit: str, work: Path) -> Path:
    """The Python files of a commit, unpacked once into a folder of their own in `work`, which exists.

    With the files that say whether the repository is a library.
    """
    target = work / f"{repo.replace('/', '+')}-{commit[:12]}"
    if not target.exists():
        clone = clones / repo.replace("/", "+")
        git = clone / "repo" if (clone / "repo").exists() else clone
        inside = ["git", "-C", str(git)]
        top = subprocess.run([*inside, "ls-tree", "--name-only", commit], capture_output=True, text=True, check=True)
        metadata = _METADATA.intersection(top.stdout.splitlines())
        archive = [*inside, "archive", commit, ":(glob)**/*.py", *sorted(metadata)]
        done = subprocess.run(archive, capture_output=True, check=True)
        partial = Path(tempfile.mkdtemp(dir=work))
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            tar.extractall(partial, filter="data")
        partial.rename(target)
    return target
