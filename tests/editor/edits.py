"""The law of documents: after edits, an analysis with the kept files finds the same as a new one without them.

Edits as in `tests.cache.edits` are made in copies of real packages, in open documents and in files on the disk.
Meanwhile documents are opened, saved and closed, and now and then one is no Python. After each edit, a document is
analysed.

    python -m tests.editor.edits --edits 1000 FOLDER …

Prints how often all had to be learned again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

from devlint.editor.jobs import Findings, Job
from devlint.editor.living import Living
from devlint.project import display_path
from devlint.settings import Settings

from tests.cache.edits import Edited, inside


class Documents(Edited):
    """A package with open documents.

    Attributes:
        learned: for each edit, whether all was learned again.
    """

    MOST = 6

    def __init__(self, source: Path, folder: Path, seed: object) -> None:
        super().__init__(source, folder, seed)
        self.learned: list[bool] = []
        self._open: dict[Path, str] = {}
        self._living = Living()
        self._settings = Settings((), select=("ALL",), in_editor=True)
        self._edited = Path()

    def _text(self, path: Path) -> str:
        return self._open[path] if path in self._open else super()._text(path)

    def _put(self, path: Path, text: str) -> None:
        self._edited = path
        if path not in self._open and self._random.random() < 0.15:
            super()._put(path, text)
        else:
            self._open[path] = text

    def compare(self) -> None:
        """Analyse the document that was edited last, or another one, and compare.

        Raises:
            AssertionError: the findings differ.
        """
        path = self._edited if self._edited in self._open and self._random.random() < 0.8 else self._any()
        text = self._open[path]
        if self._random.random() < 0.1:
            self._open[path] = f"{text}\n("
            self._look(path)
            self._open[path] = text
        self._look(path)
        if len(self._open) > self.MOST or self._random.random() < 0.1:
            closed = self._random.choice(list(self._open))
            if self._random.random() < 0.5:
                super()._put(closed, self._open[closed])
            del self._open[closed]

    def _any(self) -> Path:
        if not self._open:
            path = self._random.choice(list(self._first))
            self._open[path] = super()._text(path)
        return self._random.choice(list(self._open))

    def _look(self, path: Path) -> None:
        with inside(self._root):
            job = Job(path, self._settings, {each: text.encode() for each, text in self._open.items()}, None)
            before = self._living.kept
            found = self._living.answer(job)
            self.learned.append(self._living.kept is not before)
            anew = Living().answer(job)
            assert found is not None
            assert anew is not None
            differences = [*_only("kept", found, anew), *_only("anew", anew, found)]
            assert not differences, "\n".join([f"{self.name}: {display_path(path)}", *self.history[-9:], *differences])


def _only(name: str, one: Findings, other: Findings) -> list[str]:
    """What one finds and the other does not."""
    rows = {*_rows(other)}
    return [f"only {name}: {row}" for row in _rows(one) if row not in rows]


def _rows(findings: Findings) -> list[str]:
    result = replace(findings.result, diagnostics=(), traces=(), silenced=(), elsewhere=())
    every = (*findings.result.diagnostics, *findings.result.silenced, *findings.result.elsewhere)
    return [*map(repr, every), *map(repr, findings.occurrences), repr(result)]


def edit(source: Path, edits: int, seed: object) -> Documents:
    """Make so many edits in a copy of a package, and compare after each.

    Args:
        source: the package; nothing in it is touched.
        edits: how many.
        seed: decides everything.

    Raises:
        AssertionError: the law is broken; the message names the last edits.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        documents = Documents(source, Path(os.path.realpath(folder)), seed)
        for number in range(edits):
            documents.edit()
            documents.compare()
            if sys.stderr.isatty():
                print(f"\r{documents.name}: edit {number + 1}", end="", file=sys.stderr, flush=True)
        return documents


def main() -> int:
    """Edit the packages that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--edits", type=int, default=1000, help="in each package")
    parser.add_argument("--seed", default="0")
    given = parser.parse_args()
    for folder in given.folders:
        documents = edit(folder, given.edits, given.seed)
        anew = sum(documents.learned)
        print(
            f"{documents.name}: {len(documents.learned)} analyses alike, {anew} of them learned all again", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
