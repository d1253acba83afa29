"""Small programs that PyTorch has judged, and what devlint says of each.

`cases.jsonl` holds the programs: with how many CUDA devices each was run, whether PyTorch raised because of a device,
and on which line. `unknowable.jsonl` names those whose error cannot be known from the text, each with its reason.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from devlint.diagnostics import Diagnostic, Severity
from devlint.inspector import Batch, Inspector, load_tools
from devlint.settings import Configuration, Settings

_HERE = Path(__file__).parent
_ROOT = Path("/judged")
"""Where the programs stand as far as devlint knows; nothing is there."""

MISMATCH = ("DEV1", "DEV2", "DEV4", "DEV303")
"""The rules that promise an exception; an error of theirs where PyTorch is content is a false alarm."""


class Case(NamedTuple):
    """One program.

    Attributes:
        devices: how many CUDA devices the machine had.
        verdict: "ok", "device-error" or "other-error".
        line: where it raised.
        message: what PyTorch said.
    """

    id: str
    devices: int
    verdict: str
    line: int | None
    message: str | None
    code: str


def read_cases() -> list[Case]:
    """All programs."""
    return [Case(**json.loads(line)) for line in (_HERE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


def read_unknowable() -> dict[str, str]:
    """Why the error of a program cannot be known from its text, by its id."""
    text = (_HERE / "unknowable.jsonl").read_text(encoding="utf-8")
    return {row["id"]: row["why"] for row in map(json.loads, text.splitlines())}


@cache
def _inspector() -> Inspector:
    return Inspector(Settings((), select=("ALL",), isolated=True), load_tools)


def report(case: Case) -> list[Diagnostic]:
    """What all rules together say of a program on a machine with as many devices."""
    inspector = _inspector()
    path = _ROOT / f"{case.id.replace('.', '_')}.py"
    batch = Batch(_ROOT, Configuration(None, _ROOT, devices=case.devices), (path,))
    (result,) = inspector.inspect(batch, {path: case.code.encode()})
    return list(result.diagnostics)


def is_found(case: Case, said: list[Diagnostic]) -> bool:
    """Whether the line that raises is reported, or is a step of a report at the call that leads there."""
    places = [place for one in said for place in (one.place, *(step.place for step in one.related))]
    return any(place.line <= (case.line or 0) <= place.end_line for place in places)


def false_alarms(said: list[Diagnostic]) -> list[Diagnostic]:
    """Errors that promise an exception."""
    return [one for one in said if one.severity is Severity.ERROR and one.code.startswith(MISMATCH)]
