"""A judge that keeps its verdicts in a file, so that a long comparison goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from pathlib import Path

import torch

from tests.judge.client import Judge
from tests.judge.protocol import FAILURE_MARK

_REPOSITORY = Path(__file__).resolve().parents[2]


class RememberingJudge(Judge):
    """Runs a program only if no earlier run had the same program, files beside it, machine, torch and judge.

    Args:
        file: where the verdicts are kept, a line each; it need not exist.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        own = [*(_REPOSITORY / "tests" / "judge").rglob("*.py"), *(_REPOSITORY / "runtime_guard").rglob("*.py")]
        self._judge = f"{torch.__version__} {platform.python_version()} {_digest(own, _REPOSITORY)}"
        self._known: dict[str, str] = {}
        if file.exists():
            rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
            self._known = {row["key"]: row["verdict"] for row in rows}

    def _answer(self, kind: str, line: str) -> str:
        key = self._key(kind, json.loads(line))
        if key not in self._known:
            answer = super()._answer(kind, line)
            if answer.startswith(FAILURE_MARK.decode()):
                return answer
            with self._file.open("a", encoding="utf-8") as state:
                state.write(json.dumps({"key": key, "verdict": answer}) + "\n")
            self._known[key] = answer
        return self._known[key]

    def _key(self, kind: str, job: dict[str, object]) -> str:
        """A name for a program with all that it can see; the folder that it lies in does not matter."""
        file = job["file"]
        if isinstance(file, str):
            folder = Path(file).parent
            beside = [one for one in folder.rglob("*") if one.is_file() and "__pycache__" not in one.parts]
            job = {**job, "file": [Path(file).name, _digest(beside, folder)]}
        return hashlib.sha256(json.dumps([self._judge, kind, job], sort_keys=True).encode()).hexdigest()


def _digest(files: Iterable[Path], folder: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(folder)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
