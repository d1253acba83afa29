"""`python -m tests.mutants FOLDER… --count 500 --seed 1`: how many of 500 places are missed when they are taken away.

Each FOLDER holds packages, unpacked, each in a folder of its own. Draws places at random, tries them one at a time,
and prints what devlint says of each, and a table: how many the default rules notice, and how many every rule together.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from devlint.decoding import read_text
from devlint.errors import SourceError

from tests.mutants.places import Place, places
from tests.mutants.trials import Trial, run


def main() -> int:
    """Returns 1 if devlint failed on a mutant."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    everything = sorted(place for folder in options.folders for place in all_places(folder.absolute()))
    chosen = sorted(draw(everything, options.count, options.seed))
    print(f"{len(chosen)} of {len(everything)} places", flush=True)
    trials: list[Trial] = []
    for tried in run(chosen, options.jobs):
        for trial in tried:
            print(line(trial), flush=True)
            trials.append(trial)
    print(table(trials))
    return int(any(trial.failure for trial in trials))


def all_places(folder: Path) -> Iterator[Place]:
    """The places of all packages in a folder. A package's own `__init__` is left out: imports of it are not."""
    for package in sorted(path for path in folder.iterdir() if path.is_dir()):
        for path in sorted(package.rglob("*.py")):
            if path.name != "__init__.py":
                try:
                    yield from places(path, package.name, read_text(path, str(path)))
                except SourceError:
                    continue


def draw(everything: Sequence[Place], count: int, seed: int) -> list[Place]:
    """So many of them, each as likely as any other."""
    return random.Random(seed).sample(everything, min(count, len(everything)))


def line(trial: Trial) -> str:
    """One trial on one line."""
    place = trial.place
    outcome = "failed" if trial.failure else "missed"
    if trial.asked is not None:
        outcome = "noticed" if trial.noticed is not None else "noticed if asked"
    said = " ".join(place.said.split())
    reason = trial.failure if trial.asked is None else f"{trial.asked.place.line} {trial.asked.message}"
    return f"{outcome}: {place.path}:{place.line} {place.kind} `{said}` {reason}".rstrip()


def table(trials: Sequence[Trial]) -> str:
    """How many are noticed, by package and by kind of place: by the default rules, and by every rule.

    In view are those that their function must show.
    """
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        place = trial.place
        in_view = [("in view", "")] if place.is_in_view else []
        for group in (("package", place.package), ("place", place.kind), *in_view, ("total", "")):
            groups.setdefault(group, []).append(trial)
    rows = [f"{'':45} {'default rules':>17}   {'every rule':>17}"]
    for (heading, name), tried in sorted(groups.items()):
        noticed = sum(trial.noticed is not None for trial in tried)
        asked = sum(trial.asked is not None for trial in tried)
        rows.append(f"{heading:8} {name:36} {_share(noticed, len(tried))}   {_share(asked, len(tried))}")
    return "\n".join(rows)


def _share(count: int, whole: int) -> str:
    return f"{count:4} of {whole:4} {count / whole:5.0%}"


if __name__ == "__main__":
    sys.exit(main())
