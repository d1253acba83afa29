"""Runs programs on pretended CUDA devices and reads what `explain` makes of the error that ends them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from devlint_guard.finding import Finding
from devlint_guard.report.json import decoded

from tests.judge import Judge, Variant, Verdict

DRIVER = Path(__file__).with_name("driver.py")

_MARK = "explained: "

Way = Literal["explain", "run", "record", "plain"]
"""How a program comes to its explanation.

Its error is read, a guard is around it as with `devlint run`, in its mode or in `record`, or it is left alone.
"""


@dataclass(frozen=True, slots=True)
class Explained:
    """How a program ended, and what `explain` said of it.

    Attributes:
        verdict: with the text of the exception.
        finding: None where the program ended well, or with an error that is not explained.
        path: whether its path leads to the module that was being called; None where none was.
        notes: those of the exception.
    """

    verdict: Verdict
    finding: Finding | None
    path: bool | None = None
    notes: tuple[str, ...] = ()


def explained(
    judge: Judge,
    text: str,
    *,
    file: Path | None = None,
    call: str | None = None,
    devices: int = 4,
    variant: Variant = "cuda",
    way: Way = "explain",
) -> Explained:
    """Runs a program.

    Args:
        judge: runs it.
        text: its source.
        file: where it stands; None: in a file `program.py` of its own.
        call: a function to call once the text was executed.
        devices: how many CUDA devices there are.
        variant: the build of torch.
        way: see `Way`.
    """
    verdict = judge.run(
        DRIVER.read_text(encoding="utf-8"),
        devices=devices,
        variant=variant,
        argv=["" if file is None else str(file.resolve()), text, call or "", way],
        paths=[] if file is None else [file.resolve().parent],
    )
    said = [line.removeprefix(_MARK) for line in verdict.stdout.splitlines() if line.startswith(_MARK)]
    data: dict[str, Any] = json.loads(said[-1]) if said else {"finding": None, "path": None, "notes": ()}
    finding = None if data["finding"] is None else decoded(Finding, data["finding"])
    printed = "".join(line for line in verdict.stdout.splitlines(keepends=True) if not line.startswith(_MARK))
    return Explained(replace(verdict, stdout=printed), finding, data["path"], tuple(data["notes"]))
