"""`python -m tests.differential N SEED` prints the figures of N random programs and every disagreement, shrunken."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.differential.comparison import Comparer, Comparison, Disagreement
from tests.differential.definitions import generate
from tests.differential.shrink import shrunken
from tests.judge import Judge, supported


def main() -> int:
    """Returns 1 if devlint raised a false alarm or failed, 2 where the judge does not work."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    parser.add_argument("--no-misses", action="store_true", help="count misses, but do not show them")
    options = parser.parse_args()
    reason = supported()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    compared: list[Comparison] = []
    with Judge() as judge:
        comparer = Comparer(judge)
        for number in range(options.programs):
            compared += comparer.variants(generate(options.seed, number))
        found = [each for comparison in compared for each in comparison.disagreements]
        shown = [each for each in found if not (options.no_misses and each.what == "miss")]
        for disagreement in distinct([shrunken(each, comparer) for each in shown]):
            print(disagreement, end="\n\n")
    print(figures(compared))
    return int(any(each.what != "miss" for each in found))


def distinct(disagreements: list[Disagreement]) -> list[Disagreement]:
    """One of each: what repairs of one program repeat is left out."""
    return list({(each.what, each.about, each.program.text): each for each in disagreements}.values())


def figures(compared: list[Comparison]) -> str:
    """How many programs agreed, in words."""
    outcomes = Counter(each.outcome.partition(" ")[0] for each in compared)
    kinds = Counter(each.what for comparison in compared for each in comparison.disagreements)
    errors = outcomes["device-error"]
    found = sum(each.found for each in compared if each.outcome == "device-error")
    lines = [
        f"{len(compared)} programs: PyTorch is content with {outcomes['ok']} and refuses {errors}",
        f"false alarms: {kinds['false-alarm']}; crashes: {kinds['crash']}",
        f"refusals reported on their line: {found} of {errors}",
    ]
    strange = Counter(each.outcome[:100] for each in compared if each.outcome not in ("ok", "device-error"))
    return "\n".join([*lines, *(f"neither ({count}): {text}" for text, count in strange.most_common(5))])


if __name__ == "__main__":
    sys.exit(main())
