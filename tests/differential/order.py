"""`python -m tests.differential.order N SEED`: the reports on a program do not depend on the order of its definitions.

The functions and classes of N random programs are put into another order. Each report must stand beside the same text,
with the same message and certainty.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from devlint import engine
from devlint.settings import Settings

from tests.differential.definitions import generate
from tests.differential.program import Definition, Program

_DEFINING = ("def ", "class ", "@")

Found = TypeVar("Found")

Reports: TypeAlias = Counter[tuple[str, str, str, str]]
"""Code, message, certainty and the text of the line, with the number of such reports."""


def shuffled(program: Program, dice: random.Random) -> Program:
    """Return the program with its functions and classes in another order; what binds other names stays in its place.

    A class stays behind the classes that it inherits from.
    """
    movable = _movable(program)
    orders = (dice.sample(movable, len(movable)) for _ in itertools.count())
    following = iter(next(order for order in orders if _is_valid(order)))
    return replace(
        program, definitions=tuple(next(following) if one in movable else one for one in program.definitions)
    )


def _is_valid(order: Sequence[Definition]) -> bool:
    """Whether no class stands before a class that it inherits from."""
    heads = [one.statement.text.splitlines()[-1] for one in order]
    names = [re.split(r"[(:]", head.split()[1])[0] for head in heads]
    return not any(
        re.search(rf"[(, ]{later}[,)]", head)
        for position, head in enumerate(heads)
        if head.startswith("class ")
        for later in names[position + 1 :]
    )


def reports(text: str) -> Reports:
    """Return what devlint reports of a program."""
    settings = Settings(("-",), select=("DEV1", "DEV2", "DEV4"), isolated=True)
    lines = text.split("\n")
    found = engine.run(settings, stdin=text.encode()).outcome.diagnostics
    return Counter((one.code, one.message, one.certainty.value, lines[one.place.line - 1].strip()) for one in found)


def changes(before: Counter[Found], after: Counter[Found]) -> str:
    """List what only one side has, a line for each."""
    sides = (("-", before - after), ("+", after - before))
    return "\n".join(f"  {sign} {one}" for sign, some in sides for one in some)


def differences(count: int, seed: int) -> Iterator[str]:
    """Yield a description of each of so many programs whose order makes a difference."""
    numbers = itertools.count()
    for _ in range(count):
        program = next(one for number in numbers if len(_movable(one := generate(seed, number))) > 1)
        other = shuffled(program, random.Random(program.name))
        before, after = reports(program.text), reports(other.text)
        if before != after:
            yield f"program {program.name}:\n{changes(before, after)}\n{program.text}\n{other.text}"


def _movable(program: Program) -> list[Definition]:
    return [one for one in program.definitions if one.statement.text.startswith(_DEFINING)]


def main() -> int:
    """Return 1 if the order of definitions makes a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.order", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    options = parser.parse_args()
    found = list(differences(options.programs, options.seed))
    print("\n\n".join(found))
    print(f"{options.programs} programs, {len(found)} depend on the order of their definitions")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
