"""PyTorch's own samples of its modules, each with something on another device: what the guard says, what PyTorch does.

Run as a program on pretended CUDA devices, it writes to the file that it is given: false alarms, misses, agreements.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from devlint_guard import guard

from tests.guard.rehearsal.sweep import module_calls
from tests.torchlib.samples import modules

SAMPLES = 1
"""Of each module, in training and out of it; with three the outcome is the same."""


def sweep(every: int) -> dict[str, list[str]]:
    """Return the calls of one module in so many, by what became of them."""
    said: dict[str, list[str]] = {"false alarm": [], "missed": [], "named": [], "right": []}
    for name, run in module_calls([info.name for info in [*modules().values()][::every]], SAMPLES):
        said[_verdict(run)].append(name)
    return said


def _verdict(run: Callable[[], object]) -> str:
    raised = False
    with guard(mode="record", level="module") as active:
        try:
            run()
        except (RuntimeError, TypeError):
            raised = True
    if active.findings:
        return "named" if raised else "false alarm"
    return "missed" if raised else "right"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    Path(sys.argv[1]).write_text(json.dumps(sweep(int(sys.argv[2]))))
