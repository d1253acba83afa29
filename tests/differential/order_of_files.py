"""`python -m tests.differential.order_of_files FOLDER N SEED`: the reports on a package do not depend on its order.

N times, the functions of each file of a copy of the package are put into another order, and its files are analysed in
another order. Each report must stand beside the same text, with the same message and certainty.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from devlint.configuration import Configurations
from devlint.inspector import Batch, Inspector, load_tools
from devlint.project import display_path
from devlint.settings import Settings

from tests.differential.order import changes

Reports: TypeAlias = Counter[tuple[str, str, str, str, str]]
"""File, code, message, certainty and the text of the line of each report, once."""


def shuffled(text: str, dice: random.Random) -> str:
    """Return a file in which functions that stand one below the other have changed places, with their comments.

    A function whose decorators, defaults or annotations use another one of them stays, and so do functions of one name.
    """
    lines = text.splitlines(keepends=True)
    result, end = list(lines), 0
    run: list[tuple[ast.FunctionDef, range]] = []
    for statement in [*ast.parse(text).body, None]:
        if isinstance(statement, ast.FunctionDef):
            stop = statement.end_lineno or statement.lineno
            run.append((statement, range(end, stop)))
            end = stop
            continue
        _shuffle(run, lines, result, dice)
        run.clear()
        end = end if statement is None else statement.end_lineno or end
    return "".join(result)


def _shuffle(
    run: list[tuple[ast.FunctionDef, range]], lines: list[str], result: list[str], dice: random.Random
) -> None:
    """Put the functions of a run into another order in `result`."""
    names = {function.name for function, _ in run}
    if len(run) < 2 or len(names) < len(run) or any(_read_early(function) & names for function, _ in run):
        return
    start, stop = run[0][1].start, run[-1][1].stop
    if not lines[stop - 1].endswith("\n"):
        return  # the last line of a file has no end
    chunks = [lines[place.start : place.stop] for _, place in run]
    dice.shuffle(chunks)
    result[start:stop] = [line for chunk in chunks for line in chunk]


def _read_early(function: ast.FunctionDef) -> set[str]:
    """Return the names that the definition of a function reads, and not its calls."""
    arguments = function.args
    given = [*function.decorator_list, *arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    noted = [one.annotation for one in every if one.annotation is not None]
    read = [*given, *noted, *([] if function.returns is None else [function.returns])]
    return {node.id for one in read for node in ast.walk(one) if isinstance(node, ast.Name)}


def reports(folder: Path, dice: random.Random | None) -> Reports:
    """Return what every rule reports of a package, whose files are analysed in an order by chance, or by name."""
    files = sorted(folder.rglob("*.py"))
    if dice is not None:
        dice.shuffle(files)
    settings = Settings((str(folder),), select=("ALL",), isolated=True)
    inspector = Inspector(settings, load_tools)
    batch = Batch(folder, Configurations(Settings((".",), isolated=True)).of(folder), tuple(files))
    results = [result for part in batch.split(1) for result in inspector.inspect(part, {})]
    found = [one for result in results for one in (*result.diagnostics, *result.elsewhere)]
    texts = {display_path(path): path.read_text(encoding="utf-8").split("\n") for path in files}

    def line(file: str, number: int) -> str:
        return texts[file][number - 1].strip() if file in texts else ""

    return Counter(
        {
            (
                Path(one.place.file).name,
                one.code,
                one.message,
                one.certainty.value,
                line(one.place.file, one.place.line),
            )
            for one in found
        }
    )


def differences(package: Path, count: int, seed: int) -> Iterator[str]:
    """Yield what differs for each of so many orders, empty if nothing does."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(package, Path(place) / package.name))
        texts = {path: path.read_text(encoding="utf-8") for path in copy.rglob("*.py")}
        before = reports(copy, None)
        for number in range(count):
            dice = random.Random(f"{seed} {number}")
            for path in sorted(texts):
                path.write_text(shuffled(texts[path], dice), encoding="utf-8")
            yield changes(before, reports(copy, dice))


def main() -> int:
    """Return 1 if an order makes a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.order_of_files", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    options = parser.parse_args()
    differ = 0
    for number, difference in enumerate(differences(options.folder.resolve(), options.count, options.seed), 1):
        differ += bool(difference)
        print(f"order {number}: {difference or 'the same reports'}", flush=True)
    print(f"{options.count} orders, {differ} of them make a difference")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
