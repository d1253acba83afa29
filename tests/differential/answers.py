"""`python -m tests.differential.answers N SEED [FOLDER]`: calls with the same answers may share a summary.

The reports on N random programs, and on a folder, are compared with those of an analysis in which every body asks for
all that its call hands over. There, only calls with equal constants share a summary, and each call of a method executes
the body with its own object.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from devlint import engine
from devlint.analysis.summary.substitution import with_questions
from devlint.domain.given import Aspect, QuestionLog
from devlint.domain.given_object import Passed, PassedObject
from devlint.domain.heap import Heap
from devlint.domain.summary import Entry, Held
from devlint.settings import Settings

from tests.differential.definitions import generate
from tests.differential.order import changes, reports


@contextmanager
def asking_for_everything() -> Iterator[None]:
    """Let every body ask for the whole of every constant and every object before it is executed."""

    def ask_first(entry: Entry, passed: Passed, questions: QuestionLog, heap: Heap) -> dict[str, Held]:
        for place, given in passed.items():
            if isinstance(given, PassedObject):
                questions.needs_object = True
            else:
                questions.ask(place, Aspect.WHOLE)
        return with_questions(entry, passed, questions, heap)

    with mock.patch("devlint.analysis.program.with_questions", ask_first):
        yield


def differences(count: int, seed: int) -> Iterator[str]:
    """Yield a description of each of so many programs on which the reports differ."""
    for number in range(count):
        text = generate(seed, number).text
        shared = reports(text)
        with asking_for_everything():
            alone = reports(text)
        if shared != alone:
            yield f"program {seed}.{number}:\n{changes(shared, alone)}\n{text}"


def reports_on(folder: Path) -> Counter[tuple[str, int, int, str, str, str]]:
    """Return the reports of all rules on a folder, with their places."""
    settings = Settings((str(folder),), select=("ALL",), isolated=True, jobs=1)
    found = engine.run(settings).outcome.diagnostics
    return Counter(
        (one.place.file, one.place.line, one.place.column, one.code, one.message, one.certainty.value) for one in found
    )


def main() -> int:
    """Return 1 if a program, or the folder, has other reports when no summary is shared."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.answers", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    options = parser.parse_args()
    found = list(differences(options.programs, options.seed))
    print("\n\n".join(found))
    print(f"{options.programs} programs, {len(found)} with other reports when no summary is shared")
    if options.folder is None:
        return int(bool(found))
    shared = reports_on(options.folder)
    with asking_for_everything():
        alone = reports_on(options.folder)
    print(changes(shared, alone))
    print(f"{options.folder.name}: {shared.total()} reports, {alone.total()} when no summary is shared")
    return int(bool(found) or shared != alone)


if __name__ == "__main__":
    sys.exit(main())
