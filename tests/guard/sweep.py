"""Holds what the operator level says before an operator runs against what a rehearsal then does.

`python -m tests.guard.sweep [NAME…]` calls PyTorch's own samples of its operators, of all of them unless some are
named, with one tensor after the other on another pretended device. It prints each finding where nothing was raised, and
how many errors were foretold. `SAMPLES` in the environment says how many samples of each to take.
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
from devlint_guard.finding import Finding
from devlint_guard.rehearsal import rehearse
from devlint_guard.watch.operators import OperatorMode

from tests.torchlib.placements import attempt, placements, put
from tests.torchlib.samples import calls, chosen, operators, samples

_DEVICES = 4


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
            if outcome.kind == "device-error":
                kind = "foretold" if found else "missed"
            else:
                kind = "false alarm" if found else "legal"
            yield kind, f"{name} ({placement}): {outcome.message or [one.message for one in found]}"


def main(arguments: Sequence[str]) -> int:
    """Prints false alarms, and the counts as the last line; misses too where operators are named."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m tests.guard.sweep")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", type=int, help="take so many others too")
    options = parser.parse_args(arguments)
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
