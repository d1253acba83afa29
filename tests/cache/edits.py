"""The law of edits: after an edit, a run with the results of earlier runs reports what a run without them does.

Edits of the kinds that people make are made at random in copies of real packages: comments, statements, moves, devices,
parameters, definitions, names of the top level and imports; now and then a file is as it was at first. A package of
fewer than `SMALL` lines is compared after each edit, a larger one now and then and at the end.

    python -m tests.cache.edits --edits 5000 FOLDER …

Prints how many files each run had to analyse. With the same folders and seed, `--from N` begins with the Nth edit.
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devlint import engine
from devlint.cache import Cache
from devlint.inspector import Batch, FileResult, load_tools
from devlint.settings import Settings

SMALL = 3_000
EVERY = 50
"""How many edits of a larger package are made between two comparisons."""

_tools = functools.cache(load_tools)


class Counting(Cache):
    """A cache that counts the files for which it has nothing."""

    missed = 0

    def recall(self, batch: Batch) -> dict[Path, FileResult]:
        """Return the results that still hold, by file."""
        found = super().recall(batch)
        self.missed += len(batch.files) - len(found)
        return found


class Edited:
    """A copy of a package that is edited at random.

    Args:
        source: the folder of the package, or of a project.
        folder: where the copy is made.
        seed: decides everything, so that the same seed makes the same edits.
    """

    def __init__(self, source: Path, folder: Path, seed: object) -> None:
        self.name = source.name
        self._root = folder / "project"
        self._random = random.Random(f"{seed} {source.name}")
        shutil.copytree(source, self._root / source.name, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        (self._root / ".git").mkdir()
        self._first = {path: path.read_text("utf-8") for path in self._files() if _parsed(path) is not None}
        self.lines = sum(text.count("\n") for text in self._first.values())
        self.files = len(self._first)
        self._names = sorted({"torch", "later", *(name for text in self._first.values() for name in _names_of(text))})
        self.history: list[str] = []

    def _files(self) -> list[Path]:
        return sorted(path for path in self._root.rglob("*.py") if path.is_file())

    def edit(self) -> None:
        """Change one file; its text is Python again."""
        kinds: Sequence[Callable[[str, list[ast.stmt]], str | None]] = (
            self._comment,
            self._comment,
            self._insert,
            self._insert,
            self._delete,
            self._move,
            self._move,
            self._device,
            self._parameter,
            self._define,
            self._bind,
            self._remove,
            self._rename,
            self._rename,
            self._import,
            self._import,
            self._use,
        )
        while True:
            path = self._random.choice(list(self._first))
            text = self._text(path)
            if self._random.random() < 0.2:
                changed: str | None = self._first[path]
                what = "as at first"
            else:
                kind = self._random.choice(kinds)
                what = kind.__name__.strip("_")
                changed = kind(text, list(_simple(ast.parse(text).body)))
            if changed is not None and changed != text and _is_python(changed):
                self._put(path, changed)
                self.history.append(f"{path.relative_to(self._root)}: {what}")
                return

    def _text(self, path: Path) -> str:
        return path.read_text("utf-8")

    def _put(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")

    # --- edits: each returns the new text, or None ----------------------------------------------------------

    def _comment(self, text: str, statements: list[ast.stmt]) -> str | None:
        return self._before(text, statements, "# a remark about what follows")

    def _insert(self, text: str, statements: list[ast.stmt]) -> str | None:
        return self._before(text, statements, f"number_{self._random.randrange(9)} = {self._random.randrange(99)}")

    def _before(self, text: str, statements: list[ast.stmt], line: str) -> str | None:
        if not statements:
            return None
        at = self._random.choice(statements)
        lines = text.split("\n")
        before = lines[at.lineno - 1][: at.col_offset]
        if before.strip():
            return None
        lines.insert(at.lineno - 1, before + line)
        return "\n".join(lines)

    def _delete(self, text: str, statements: list[ast.stmt]) -> str | None:
        if not statements:
            return None
        at = self._random.choice(statements)
        lines = text.split("\n")
        before = lines[at.lineno - 1][: at.col_offset]
        lines[at.lineno - 1 : at.end_lineno] = [f"{before}pass"]
        return "\n".join(lines)

    def _move(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Move the value of a name that a statement reads."""
        names = [
            node
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ]
        if not names:
            return None
        at = self._random.choice(names)
        lines = text.split("\n")
        line = lines[at.lineno - 1].encode()
        moved = self._random.choice((".cpu()", ".cuda()", ".to(device)", ".to('cuda:1')"))
        end = at.end_col_offset or 0
        lines[at.lineno - 1] = (line[:end] + moved.encode() + line[end:]).decode()
        return "\n".join(lines)

    def _device(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Put another device in the place of one that the text names."""
        devices = ('"cpu"', '"cuda"', '"cuda:0"', "'cpu'", "'cuda'", "'cuda:0'")
        there = [one for one in devices if one in text]
        if not there:
            return None
        old = self._random.choice(there)
        pieces = text.split(old)
        at = self._random.randrange(1, len(pieces))
        return old.join(pieces[:at]) + self._random.choice(devices) + old.join(pieces[at:])

    def _parameter(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Give a function one more parameter."""
        lines = text.split("\n")
        places = [
            n for n, line in enumerate(lines) if line.lstrip().startswith("def ") and line.rstrip().endswith("):")
        ]
        if not places:
            return None
        at = self._random.choice(places)
        lines[at] = f"{lines[at].rstrip()[:-2]}, more_{self._random.randrange(99)}=None):".replace("(, ", "(")
        return "\n".join(lines)

    def _define(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Give the file one more function, or take the last definition away."""
        body = ast.parse(text).body
        if self._random.random() < 0.5 or not body or not isinstance(body[-1], (ast.FunctionDef, ast.ClassDef)):
            return f"{text.rstrip()}\n\n\ndef more_{self._random.randrange(99)}(x):\n    return x.cuda()\n"
        first = min([body[-1].lineno, *(one.lineno for one in body[-1].decorator_list)])
        return "\n".join(text.split("\n")[: first - 1]) + "\n"

    def _bind(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Bind a name of the project at the top level of the file, without an effect or with one."""
        name = self._random.choice(self._names)
        made = (
            f"{name} = {self._random.randrange(9)}",
            f"{name} = 'cuda:0'",
            f"def {name}(x):\n    return x.cuda()",
            f"class {name}:\n    kind = 'cpu'\n\n    def forward(self, x):\n        return x.cpu()",
            f"{name} = print",
            "import torch\ntorch.set_default_device('cuda')",
        )
        return self._at_top(text, self._random.choice(made))

    def _import(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Import another file of the project, or a name of one, or a library."""
        path = self._random.choice(list(self._first))
        parts = path.relative_to(self._root).with_suffix("").parts
        outer = self._random.randrange(len(parts))
        module = ".".join(parts[outer:] if parts[-1] != "__init__" else parts[outer:-1] or parts)
        name = self._random.choice(self._names)
        made = (f"import {module}", f"from {module} import {name}", f"from {module} import *", f"import math as {name}")
        return self._at_top(text, self._random.choice(made))

    def _at_top(self, text: str, lines: str) -> str | None:
        """Put lines before a statement of the top level, or behind all."""
        at = self._random.choice([*ast.parse(text).body, None])
        before = text.split("\n")
        first = len(before) if at is None else _first_line(at) - 1
        return "\n".join([*before[:first], *lines.split("\n"), *before[first:]])

    def _remove(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Take a statement of the top level away."""
        body = ast.parse(text).body
        if not body:
            return None
        at = self._random.choice(body)
        lines = text.split("\n")
        del lines[_first_line(at) - 1 : at.end_lineno]
        return "\n".join(lines)

    def _rename(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Rename a definition where it stands; nobody finds it any more, but who looks for the other name."""
        lines = text.split("\n")
        places = [one for one in ast.parse(text).body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        if not places:
            return None
        at = self._random.choice(places)
        line = lines[at.lineno - 1]
        lines[at.lineno - 1] = line.replace(f" {at.name}", f" {self._random.choice(self._names)}", 1)
        return "\n".join(lines)

    def _use(self, text: str, statements: list[ast.stmt]) -> str | None:
        """Put one name of the project in the place of another."""
        names = [
            node
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id in self._names
        ]
        if not names:
            return None
        at = self._random.choice(names)
        lines = text.split("\n")
        line = lines[at.lineno - 1].encode()
        name = self._random.choice(self._names).encode()
        lines[at.lineno - 1] = (line[: at.col_offset] + name + line[at.end_col_offset :]).decode()
        return "\n".join(lines)


class Package(Edited):
    """A package whose files on the disk are edited, and analysed with the results of earlier runs."""

    def __init__(self, source: Path, folder: Path, seed: object) -> None:
        super().__init__(source, folder, seed)
        self.missed: list[int] = []
        self._cache = folder / "cache"

    def run(self, *, compare: bool) -> None:
        """Run with the results of earlier runs, and compare with a run without them.

        Raises:
            AssertionError: they differ.
        """
        with inside(self._root):
            settings = Settings((".",), jobs=1)
            cache = Counting(self._cache, lambda batch: "key")
            warm = _found(settings, cache)
            self.missed.append(cache.missed)
            if compare:
                cold = _found(settings, None)
                new, lost = sorted({*warm} - {*cold}), sorted({*cold} - {*warm})
                assert warm == cold, "\n".join([self.name, *self.history[-9:], "only warm:", *new, "only cold:", *lost])


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _names_of(text: str) -> Iterator[str]:
    """Yield the names that definitions of a file bind."""
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield statement.name


def _simple(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in ast.walk(ast.Module(list(body), [])):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return None


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Make a folder the working directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _found(settings: Settings, cache: Cache | None) -> list[str]:
    outcome = engine.run(settings, load=_tools, cache=cache).outcome
    return [*map(repr, outcome.diagnostics), *map(repr, outcome.silenced)]


def edit(source: Path, edits: int, seed: object, first: int = 0) -> Package:
    """Make so many edits in a copy of a package, and compare.

    Args:
        source: the package; nothing in it is touched.
        edits: how many.
        seed: decides everything.
        first: the first edit with a run.

    Raises:
        AssertionError: the law is broken; the message names the last edits.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = Package(source, Path(os.path.realpath(folder)), seed)
        for number in range(edits):
            if number == first:
                package.run(compare=False)
            package.edit()
            if number >= first:
                compares = package.lines < SMALL or number % EVERY == EVERY - 1 or number == edits - 1
                package.run(compare=compares)
                if sys.stderr.isatty():
                    print(f"\r{package.name}: edit {number + 1}", end="", file=sys.stderr, flush=True)
        return package


def main() -> int:
    """Edit the packages that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--edits", type=int, default=5000, help="in all packages together")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--from", type=int, default=0, dest="first")
    given = parser.parse_args()
    for folder in given.folders:
        package = edit(folder, given.edits // len(given.folders), given.seed, given.first)
        after = package.missed[1:]
        share = sum(after) / max(len(after), 1)
        size = f"{package.lines:,} lines in {package.files} files"
        print(f"\n{package.name}: {size}, {len(after)} edits hold, {share:.1f} files analysed again in a run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
