"""`python -m tests.differential N SEED` prints the figures of N random programs and every disagreement, shrunken."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator

from tests.differential.comparison import Comparer, Comparison, Disagreement
from tests.differential.definitions import generate
from tests.differential.shrink import shrunken
from tests.judge import Judge, supported

BATCH = 50
"""So many programs go to the judge at once."""


def main() -> int:
    """Returns 1 if devlint raised a false alarm or failed, 2 where the judge does not work."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N", help="how many, with those that repairs make of them")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    parser.add_argument("--misses", type=int, default=3, metavar="M", help="show so many misses of each cause")
    parser.add_argument("--about", default="", metavar="TEXT", help="show misses only whose cause contains this")
    parser.add_argument("--mutants", action="store_true", help="also mutate the programs with which PyTorch is content")
    options = parser.parse_args()
    reason = supported()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    compared: list[Comparison] = []
    shown: Counter[str] = Counter()
    with Judge() as judge:
        comparer = Comparer(judge, quick=True)
        for comparison in comparisons(comparer, options.seed, mutate=options.mutants):
            compared.append(comparison)
            for each in comparison.disagreements:
                shown[each.about] += each.what == "miss" and options.about in each.about
                if each.what != "miss" or (options.about in each.about and shown[each.about] <= options.misses):
                    print(shrunken(each, comparer), end="\n\n", flush=True)
            if len(compared) % 1000 == 0:
                print(figures(compared), end="\n\n", flush=True)
            if len(compared) >= options.programs:
                break
    print(figures(compared))
    return int(any(each.what != "miss" for comparison in compared for each in comparison.disagreements))


def comparisons(comparer: Comparer, seed: int, *, mutate: bool = False) -> Iterator[Comparison]:
    """All programs of a seed and what repairs and mutations make of them, without end."""
    for start in itertools.count(0, BATCH):
        yield from comparer.variants([generate(seed, number) for number in range(start, start + BATCH)], mutate=mutate)


def distinct(disagreements: list[Disagreement]) -> list[Disagreement]:
    """One of each: what repairs of one program repeat is left out."""
    return list({(each.what, each.about, each.program.text): each for each in disagreements}.values())


def figures(compared: list[Comparison]) -> str:
    """How many programs agreed, as a table."""
    outcomes = Counter(each.outcome.partition(" ")[0] for each in compared)
    kinds = Counter(each.what for comparison in compared for each in comparison.disagreements)
    certain = sum(each.message.startswith("certain") for comparison in compared for each in comparison.disagreements)
    refused = [each for each in compared if each.outcome == "device-error"]
    lines = [
        f"programs                                {len(compared):6}",
        f"PyTorch is content                      {outcomes['ok']:6}",
        f"  with a certain error reported         {certain:6}",
        f"  with another error reported           {kinds['false-alarm'] - certain:6}",
        f"devlint failed                          {kinds['crash']:6}",
        f"PyTorch refuses a device                {len(refused):6}",
        f"  reported on its line                  {sum(each.found for each in refused):6}{_share(refused)}",
    ]
    for cause, count in Counter(each.cause for each in refused).most_common():
        chosen = [each for each in refused if each.cause == cause]
        lines.append(f"    {cause:35} {count:6}{_share(chosen)}")
    strange = Counter(each.outcome[:100] for each in compared if each.outcome not in ("ok", "device-error"))
    return "\n".join([*lines, *(f"neither ({count}): {text}" for text, count in strange.most_common(5))])


def _share(refused: list[Comparison]) -> str:
    return f"  {100 * sum(each.found for each in refused) / max(len(refused), 1):5.1f} %"


if __name__ == "__main__":
    sys.exit(main())
