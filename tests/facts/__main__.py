"""`python -m tests.facts PROGRAM …`: compares what the inference claims with what programs compute."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.expectations import FixtureError, Kind, read
from tests.facts.compare import AGREE, DISAGREE, UNKNOWN_TO_IT
from tests.facts.run import Program, Told, compared, prepare

COUNTED = ("kind", "device", "rank")
APART = ("condition", "reached", "code", "itself")


def programs_of(path: Path, devices: int | None) -> Iterator[Program]:
    """Yield the programs of a file or a folder: right programs of fixtures, else files that nothing imports."""
    if path.is_dir():
        texts = {file: file.read_text(errors="replace") for file in sorted(path.rglob("*.py"))}
        mains = [file for file, text in texts.items() if "__main__" in text and file.stem != "__main__"]
        for file in mains or texts:
            imports = re.compile(rf"(import|from)\s+([\w.]+\.)?{file.stem}\b|import .*\b{file.stem}\b")
            if mains or (file.stem != "__init__" and not any(map(imports.search, texts.values()))):
                yield Program(path, file.relative_to(path).as_posix(), devices=devices)
        return
    try:
        found = read(path).programs
    except FixtureError:
        found = ()
    right = [each for each in found if each.name is not None and each.kind in (Kind.OK, Kind.FALSE_POSITIVE)]
    for machine in dict.fromkeys([each.devices for each in right]):
        calls = [str(each.name) for each in right if each.devices == machine]
        yield Program(path, path.name, calls=calls, devices=machine)
    if not found or (len(found) == 1 and found[0].name is None):
        yield Program(path, path.name, devices=devices if not found else found[0].devices)


class Table:
    """The sums over runs: places by aspect, where they stand in the text, and what is wrong."""

    def __init__(self) -> None:
        self.verdicts: dict[tuple[str, str, tuple[int, int, int, int], str], list[int]] = {}
        self.wrong: dict[str, str] = {}
        self.follow = 0
        self.conflicts: dict[str, str] = {}
        self.misses: dict[str, str] = {}
        self.requirements: Counter[str] = Counter()
        self.endings: Counter[str] = Counter()

    def add(self, name: str, told: Told | str) -> None:
        """Add one run of the program `name`."""
        if isinstance(told, str):
            self.endings[told] += 1
            print(f"{name}: {told}", file=sys.stderr)
            return
        places, result = told
        for (number, aspect), counts in result.verdicts.items():
            place = places[number]
            whole = self.verdicts.setdefault((f"{name}:{place.path}", place.word, place.span, aspect), [0, 0, 0])
            whole[:] = [a + b for a, b in zip(whole, counts, strict=True)]
        for (number, aspect), (is_first, text) in sorted(result.wrong.items()):
            place = places[number]
            if is_first:
                where = f"{_named(name, place.path)}:{place.span[0]}:{place.span[1]} {place.word} {aspect}"
                self.wrong.setdefault(where, text)
        self.conflicts.update({_named(name, key): text for key, text in result.conflicts.items()})
        self.misses.update({_named(name, key): text for key, text in result.misses.items()})
        self.requirements += result.requirements
        self.endings["ended well" if not result.error else result.error.partition(":")[0]] += 1

    def lines(self) -> Iterator[str]:
        """Yield the table."""
        sums: dict[str, Counter[str]] = {aspect: Counter() for aspect in (*COUNTED, *APART)}
        for (_, _, _, aspect), counts in self.verdicts.items():
            sums[aspect][_word(counts)] += 1
        sums["all"] = sum((sums[aspect] for aspect in COUNTED), Counter())
        for aspect in (*COUNTED, "all", *APART):
            count = sums[aspect]
            whole = count.total() or 1
            words = ("agree", "unknown", "disagree")
            shares = "  ".join(f"{word} {count[word]} ({count[word] / whole:.2%})" for word in words)
            yield f"{aspect:9} {count.total():7}  {shares}"
        yield f"first disagreements {len(self.wrong)}, requirements {dict(self.requirements)}"
        yield f"conflicts in runs that end well {len(self.conflicts)}, unpredicted device errors {len(self.misses)}"
        yield f"runs {dict(self.endings)}"


def _named(name: str, path: str) -> str:
    """Return the path of a file in a program; of a program that is one file, behind the name of its folder."""
    file, colon, rest = path.partition(":")
    return f"{name}{colon}{rest}" if file == name.rpartition("/")[2] else f"{name}/{path}"


def _word(counts: list[int]) -> str:
    return "disagree" if counts[DISAGREE] else "agree" if counts[AGREE] else "unknown" if counts[UNKNOWN_TO_IT] else ""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.facts", description=__doc__)
    parser.add_argument("programs", type=Path, nargs="+", metavar="PROGRAM", help="a file, a fixture or a folder")
    parser.add_argument("--plain", action="store_true", help="without a rehearsal")
    parser.add_argument("--devices", type=int, default=2, help="of the rehearsal")
    parser.add_argument("--main", help="the file to run in each folder, or the name of a module such as pytest")
    parser.add_argument("--seconds", type=int, default=60, help="of CPU time that a run may take")
    parser.add_argument("--with", dest="arguments", default="", help="the arguments of the program")
    parser.add_argument("--known", type=Path, help="a file with lines `PLACE  # REASON` that do not count")
    options = parser.parse_args()
    lines = options.known.read_text(encoding="utf-8").splitlines() if options.known else []
    known = [line.partition("  #")[0] for line in lines if not line.startswith("#")]
    prepare()
    table = Table()
    devices = None if options.plain else options.devices
    for path in options.programs:
        if options.main:
            programs = iter([Program(path, options.main, options.arguments.split(), devices=devices)])
        else:
            programs = programs_of(path, devices)
        for program in programs:
            table.add("/".join(path.resolve().parts[-2:]), compared(program, options.seconds))
    is_new = False
    for title, found in (("DISAGREE", table.wrong), ("CONFLICT", table.conflicts), ("MISS", table.misses)):
        for place, text in found.items():
            if f"{title} {place}" in known:
                known.remove(f"{title} {place}")
            else:
                is_new = is_new or title != "MISS"
                print(f"{title} {place}\n    {text}")
    print("\n".join([*[f"gone: {each}" for each in known], *table.lines()]))
    return int(is_new)


if __name__ == "__main__":
    sys.exit(main())
