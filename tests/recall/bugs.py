"""The list of mended device bugs, and which rules may claim to have found each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

SCOPES = ("function", "class", "file", "cross-file", "no")
"""The least context in which both halves of a bug are visible, smallest first; "no": not decidable from source."""

MISMATCH, PLACEMENT, PORTABILITY = "DEV1", "DEV2", "DEV3"

FAMILIES: dict[str, tuple[str, ...]] = {
    "attr-cpu-state": (MISMATCH, PLACEMENT),
    "attr-device-state": (MISMATCH, PLACEMENT),
    "attr-not-buffer": (MISMATCH, PLACEMENT),
    "branch-missing-move": (MISMATCH,),
    "checkpoint-tensor-device": (MISMATCH, PORTABILITY),
    "cpu-only-argument": (MISMATCH,),
    "device-not-forwarded": (MISMATCH, PLACEMENT),
    "discarded-to": (PLACEMENT,),
    "factory-no-device": (MISMATCH,),
    "generator": (MISMATCH,),
    "from-numpy-cpu": (MISMATCH, PLACEMENT),
    "hardcoded-cuda": (PORTABILITY,),
    "inconsistent-offload": (MISMATCH,),
    "index-device": (MISMATCH,),
    "input-not-moved": (MISMATCH,),
    "load-no-map-location": (PORTABILITY,),
    "loss-accumulator-cpu": (MISMATCH,),
    "model-not-moved": (MISMATCH, PLACEMENT),
    "model-parallel": (MISMATCH,),
    "numpy-on-cuda": (MISMATCH,),
    "other": (MISMATCH, PLACEMENT, PORTABILITY),
    "two-caller-tensors": (MISMATCH,),
    "wrong-device-expression": (MISMATCH, PLACEMENT, PORTABILITY),
}
"""The rule families that fit a kind of bug: a diagnostic of another family on the same line does not count."""


class Bug(NamedTuple):
    """One mended bug.

    Attributes:
        id: names the row.
        repo: owner and name on GitHub.
        parent, fix: the last commit with the bug and the one that mends it.
        path: the file.
        lines: where the bug is, in `parent`.
        related: other lines that take part in it, such as where two values meet.
        category: a key of `FAMILIES`.
        decidable: one of `SCOPES`.
    """

    id: str
    repo: str
    parent: str
    fix: str
    path: str
    lines: tuple[int, ...]
    related: tuple[int, ...]
    category: str
    decidable: str


def read_bugs(*, others: bool = False) -> tuple[Bug, ...]:
    """The list that devlint was worked on with, or `others` of other repositories, in order of ids."""
    rows = [json.loads(line) for line in _beside("others.jsonl" if others else "bugfixes.jsonl").splitlines()]
    return tuple(Bug(**{**row, "lines": tuple(row["lines"]), "related": tuple(row["related"])}) for row in rows)


def read_misses() -> dict[str, str]:
    """Why a bug is not found, by its id."""
    return {row["id"]: row["why"] for row in map(json.loads, _beside("misses.jsonl").splitlines())}


def _beside(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
