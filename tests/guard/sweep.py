"""Holds what a guard says before an operator or a module runs against what a rehearsal then does.

`python -m tests.guard.sweep [NAME…]` calls PyTorch's own samples of its operators, of all of them unless some are
named, with one tensor after the other on another pretended device. It prints each finding where nothing was raised, and
how many errors were foretold. `SAMPLES` in the environment says how many samples of each to take. With `--modules N` it
calls each Nth of PyTorch's modules instead, and prints all calls by their kind.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import torch
from devlint_guard import guard
from devlint_guard.finding import Finding
from devlint_guard.rehearsal import rehearse
from devlint_guard.watch.operators import OperatorMode

from tests.guard.rehearsal.sweep import module_calls
from tests.torchlib.placements import attempt, placements, put
from tests.torchlib.samples import calls, chosen, modules, operators, samples

_DEVICES = 4
_KINDS = {
    (True, True): "foretold",
    (True, False): "missed",
    (False, True): "false alarm",
    (False, False): "legal",
}
"""By whether PyTorch raised an error, and whether the guard has found something."""


def outcomes(name: str, limit: int) -> Iterator[tuple[str, str]]:
    """For each call: `foretold`, `missed`, `false alarm` or `legal`, and what was called."""
    call = next(iter(calls(name)), None)
    if call is None:
        return
    for sample in samples(name, limit):
        packed = [list(sample.arguments), sample.keywords]
        for placement in placements(packed):
            arguments, keywords = put(packed, placement)
            found: list[Finding] = []
            with OperatorMode(found.append):
                outcome = attempt(call.run, *arguments, **keywords)
            if outcome.kind == "other-error":
                continue
            yield (
                _KINDS[outcome.kind == "device-error", bool(found)],
                f"{name} ({placement}): {outcome.message or [one.message for one in found]}",
            )


def module_outcomes(every: int) -> dict[str, list[str]]:
    """Return the calls of one module in so many, by their kind; with more samples of each, the outcome is the same."""
    said: dict[str, list[str]] = {kind: [] for kind in _KINDS.values()}
    for name, run in module_calls([info.name for info in [*modules().values()][::every]], 1):
        with guard(mode="record", level="module") as active:
            outcome = attempt(run)
        said[_KINDS[outcome.kind.endswith("error"), bool(active.findings)]].append(name)
    return said


def main(arguments: Sequence[str]) -> int:
    """Prints false alarms, and the counts as the last line; misses too where operators are named."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m tests.guard.sweep")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", type=int, help="take so many others too")
    parser.add_argument("--modules", type=int, metavar="N", help="take each Nth module")
    options = parser.parse_args(arguments)
    if options.modules:
        with rehearse(_DEVICES):
            print(json.dumps(module_outcomes(options.modules)))
        return 0
    names: Iterable[str] = options.names or operators()
    if options.sample is not None:
        names = sorted({*chosen(operators(), options.sample, seed=5), *options.names})
    operators()
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    with rehearse(_DEVICES):
        for name in names:
            for kind, what in outcomes(name, int(os.environ.get("SAMPLES", "2"))):
                counts[kind] += 1
                if kind == "false alarm" or (kind == "missed" and arguments):
                    print(f"{kind}: {what}")
    print(json.dumps(counts))
    return 1 if counts["false alarm"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
