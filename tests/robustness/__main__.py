"""`python -m tests.robustness N SEED` gives devlint N inputs of each kind that nobody would write."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.robustness.inputs import KINDS, make
from tests.robustness.trial import Failure, trial


def main() -> int:
    """Prints a line for each kind, and each failure with what makes its input again; returns 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.robustness", description=__doc__)
    parser.add_argument("inputs", type=int, metavar="N", help="how many of each kind")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    parser.add_argument("--kind", choices=tuple(KINDS), action="append", help="only these kinds")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="begin with this number")
    parser.add_argument("--show", action="store_true", help="print the inputs instead")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.inputs)
    failed = 0
    for kind in options.kind or KINDS:
        if options.show:
            for number in numbers:
                sys.stdout.buffer.write(make(kind, options.seed, number) + b"\n")
            continue
        start = time.perf_counter()
        count = 0
        for failure in failures(kind, options.seed, numbers):
            count += 1
            again = f"--kind {kind} --first {failure.number} 1 {options.seed}"
            print(f"{failure.what}\n    python -m tests.robustness {again}", flush=True)
        each = (time.perf_counter() - start) / max(1, len(numbers))
        print(f"{kind:15} {len(numbers):8} inputs {count:5} failures  {each * 1000:6.1f} ms each", flush=True)
        failed += count
    return int(bool(failed))


def failures(kind: str, seed: int, numbers: range) -> Iterator[Failure]:
    """What goes wrong with the inputs of these numbers."""
    with tempfile.TemporaryDirectory() as name:
        before = Path.cwd()
        os.chdir(name)
        try:
            for number in numbers:
                failure = trial(kind, number, make(kind, seed, number), Path(name))
                if failure is not None:
                    yield failure
        finally:
            os.chdir(before)


if __name__ == "__main__":
    sys.exit(main())
