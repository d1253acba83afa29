"""The law of the cache: a run with the results of earlier runs reports what a run without them does.

A walk edits, renames, adds and removes files, packages and links of a small project at random, and after each step
compares the two runs, from a random working directory, for paths that are relative, absolute or lead through a link.
Now and then the runs are processes of their own, several at a time on one cache.

    python -m tests.cache.law --steps 5000
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from devlint import engine
from devlint.cache import Cache
from devlint.cache.location import VARIABLE, key_of
from devlint.errors import DevlintError
from devlint.inspector import load_tools
from devlint.registry import packages_of_rules
from devlint.settings import Settings

from tests.cache.projects import LEAF, LINK, USER
from tests.robustness.commands import MIXED, start

STEPS_IN_A_PROJECT = 40
STEPS_TO_PROCESSES = 100
PATIENCE = 900
"""Seconds after which a process does not end any more."""

FOLDERS = ("", "pkg/", "pkg/sub/", "src/", "src/lib/", "other/")
FILES = ("a.py", "b.py", "c.py", "__init__.py", "my-script.py", "2nd.py")
MODULES = ("a", "b", "c", "pkg", "pkg.a", "pkg.sub.b", "lib.a", ".a", ".", "..b", "src.a", "other")
SCRIPT = '\nif __name__ == "__main__":\n    from {module} import make\n    torch.ones(3, device="cuda:0") + make()\n'
LATE = "import torch\n\n\ndef make():\n    from {module} import make as other\n    return other()\n"


class Walk:
    """One project, changed at random.

    Args:
        folder: an empty folder.
        random: decides everything, so that the same seed walks the same way.
    """

    def __init__(self, folder: Path, random: Random) -> None:
        self.history: list[str] = []
        self._random = random
        self._base = Path(os.path.realpath(folder))
        self._cache = self._base / "cache"
        self._project = self._base / "project"
        self._project.mkdir()
        (self._base / ".git").mkdir()  # ends the search for ignored files
        (self._project / "pyproject.toml").write_text("")
        (self._base / "link").symlink_to(self._project)
        for _ in range(6):
            self._edit()

    def step(self, *, processes: bool = False) -> None:
        """Change something, and compare.

        Raises:
            AssertionError: a run with the cache differs from one without.
        """
        changes = (self._edit, self._edit, self._edit, self._rename, self._remove, self._package, self._link)
        self._random.choice((*changes, self._configure))()
        (self._compare_processes if processes else self._compare)()

    # --- changes --------------------------------------------------------------------------------------------

    def _note(self, text: str) -> None:
        self.history.append(text)

    def _edit(self) -> None:
        path = self._project / self._random.choice(FOLDERS) / self._random.choice(FILES)
        self._write(path, self._content())

    def _write(self, path: Path, content: bytes) -> None:
        with suppress(FileExistsError, NotADirectoryError):  # links may lead nowhere, to a file, or in a circle
            if not os.path.lexists(path.parent) and os.path.exists(path.parent.parent):
                path.parent.mkdir()
            if path.parent.is_dir() and not path.is_dir() and os.path.exists(path) == os.path.lexists(path):
                self._note(f"write {path.relative_to(self._project)}: {content!r}")
                path.write_bytes(content)

    def _content(self) -> bytes:
        text = self._random.choice((LEAF, LEAF, LINK, LINK, LATE, USER, USER, SCRIPT, MIXED, "x = (\n", "x = 1\n"))
        text = text.replace("{module}", self._random.choice(MODULES))
        text = text.replace("{device}", self._random.choice(("cpu", "cuda:0")))
        if self._random.random() < 0.1:
            text += "y = 1  # devlint: ignore[DEV101] a reason\n"
        return text.encode() + (b"# \xff\n" if self._random.random() < 0.05 else b"")

    def _entries(self) -> list[Path]:
        return sorted(path for path in self._project.rglob("*") if path.name != "pyproject.toml")

    def _rename(self) -> None:
        entries = self._entries()
        if entries:
            path = self._random.choice(entries)
            new = self._project / self._random.choice(FOLDERS) / self._random.choice((*FILES, "pkg", "lib"))
            inside = path == new or path in new.parents
            if new.parent.is_dir() and not os.path.lexists(new) and not inside:
                self._note(f"rename {path.relative_to(self._project)} to {new.relative_to(self._project)}")
                path.rename(new)

    def _remove(self) -> None:
        entries = self._entries()
        if entries:
            path = self._random.choice(entries)
            self._note(f"remove {path.relative_to(self._project)}")
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _package(self) -> None:
        folder = self._random.choice(("", "pkg", "pkg/sub", "src", "src/lib", "other"))
        path = self._project / folder / "__init__.py"
        if path.is_file() or path.is_symlink():
            self._note(f"remove {path.relative_to(self._project)}")
            path.unlink()
        else:
            self._write(path, b"" if self._random.random() < 0.7 else self._content())

    def _link(self) -> None:
        entries = self._entries()
        path = self._project / self._random.choice(FOLDERS) / self._random.choice(("c.py", "linked", "other"))
        if entries and path.parent.is_dir() and not os.path.lexists(path):
            target = self._random.choice(entries)
            self._note(f"link {path.relative_to(self._project)} to {target.relative_to(self._project)}")
            path.symlink_to(target)

    def _configure(self) -> None:
        path = self._project / self._random.choice(("pyproject.toml", "pyproject.toml", "pkg/pyproject.toml"))
        if path.is_file() and path.parent != self._project:
            self._note(f"remove {path.relative_to(self._project)}")
            path.unlink()
            return
        sources = [name for name in ("pkg", "other", "src/lib") if (path.parent / name).is_dir()]
        keys = ("", 'ignore = ["DEV101"]', "devices = 1", *(f'src = ["{name}"]' for name in sources))
        self._write(path, f"[tool.devlint]\n{self._random.choice(keys)}\n".encode())

    def _repair_configuration(self) -> None:
        for path in self._project.rglob("pyproject.toml"):
            self._write(path, b"")

    # --- comparisons ----------------------------------------------------------------------------------------

    def _compare(self) -> None:
        with self._somewhere() as paths:
            fix = self._random.random() < 0.2
            settings = Settings(paths, jobs=1, fix=fix, unsafe_fixes=fix)
            key = partial(key_of, settings, ("devlint", *_packages()))
            warm, cold = (_run(settings, cache) for cache in (Cache(self._cache, key), None))
            assert warm == cold, f"{warm} is not {cold}"
        if isinstance(cold, str):
            self._repair_configuration()

    def _compare_processes(self) -> None:
        with self._environment(), self._somewhere() as paths:
            folder = Path.cwd()
            options = ("check", "--output-format", "jsonl", "--jobs", self._random.choice(("1", "2")))
            warm = [start(folder, *options, *paths) for _ in range(2)]
            cold = _end(start(folder, *options, "--no-cache", *paths))
            assert [_end(process) for process in warm] == [cold, cold]

    @contextmanager
    def _environment(self) -> Iterator[None]:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(self._cache)
        try:
            yield
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before

    @contextmanager
    def _somewhere(self) -> Iterator[tuple[str, ...]]:
        """Go to a random working directory, and give paths to check from there."""
        folders = [self._base, self._project, *(path for path in self._entries() if path.is_dir())]
        before = Path.cwd()
        here = self._random.choice(folders)
        os.chdir(here)
        try:
            paths = self._paths(here)
            self._note(f"check {' '.join(paths)} in {here.relative_to(self._base)}")
            yield paths
        finally:
            os.chdir(before)

    def _paths(self, here: Path) -> tuple[str, ...]:
        named = [self._project, *self._entries()]
        chosen = [self._project] if self._random.random() < 0.4 else self._random.sample(named, min(2, len(named)))
        ways: tuple[Callable[[Path], str], ...] = (
            str,
            lambda path: os.path.relpath(path, os.path.realpath(here)),
            lambda path: str(self._base / "link" / path.relative_to(self._project)),
        )
        return tuple(self._random.choice(ways)(path) for path in chosen)


def _end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


@functools.cache
def _packages() -> tuple[str, ...]:
    return packages_of_rules()


_tools = functools.cache(load_tools)


def _run(settings: Settings, cache: Cache | None) -> object:
    try:
        run = engine.run(settings, load=_tools, cache=cache)
    except DevlintError as error:
        return str(error)
    outcome = run.outcome
    problems = tuple(map(str, outcome.problems))
    return outcome.diagnostics, outcome.silenced, problems, run.changes, run.warnings, run.notes


def walk(steps: int, seed: int) -> None:
    """Walk so many steps, through a new project from time to time.

    Raises:
        AssertionError: the law is broken; the message says how to repeat that.
    """
    for done in range(0, steps, STEPS_IN_A_PROJECT):
        with TemporaryDirectory() as folder:
            one = Walk(Path(folder), Random(f"{seed} {done}"))
            try:
                for number in range(done, min(steps, done + STEPS_IN_A_PROJECT)):
                    one.step(processes=number % STEPS_TO_PROCESSES == STEPS_TO_PROCESSES - 1)
            except AssertionError as error:
                history = "\n".join(one.history)
                raise AssertionError(f"seed {seed}, project at step {done}:\n{history}\n{error}") from error


def main() -> None:
    """Walk as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    walk(given.steps, given.seed)
    print(f"{given.steps} steps: the law holds", file=sys.stderr)


if __name__ == "__main__":
    main()
