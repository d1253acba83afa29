"""Lines that changed since a commit: a run with `--diff-base` reports on these only.

Only git objects are read (`git rev-parse`, `git merge-base`, `git cat-file`). These commands run no filter, no hook and
no other program that a repository can name; objects that a partial clone lacks are not fetched.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from devlint.diagnostics import Diagnostic, Place
from devlint.errors import ConfigError, SourceError
from devlint.project import decode, display_path, lines_of
from devlint.selection import ALWAYS
from devlint.sources import program_of

_SECONDS = 60
"""How long git may take for one answer."""


class ChangedLines:
    """Compares files of the working folder's repository with the last common commit of HEAD and a base.

    Args:
        base: a branch, tag or commit.

    Raises:
        ConfigError: git is missing, the working folder is in no repository, or the base has no common commit with HEAD.
    """

    def __init__(self, base: str) -> None:
        self._git = _program()
        self._top = Path(os.path.realpath(os.fsdecode(self._ask("rev-parse", "--show-toplevel")).rstrip("\n")))
        if base.startswith("-") or not self._answers("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"):
            raise ConfigError(f'--diff-base: "{base}" is no branch, tag or commit of this repository{self._hint()}')
        if not self._answers("rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
            raise ConfigError("--diff-base: the repository has no commit yet")
        common = self._answers("merge-base", base, "HEAD")
        if not common:
            raise ConfigError(f'--diff-base: HEAD and "{base}" have no common commit here{self._hint()}')
        self._commit = common.split()[0].decode()

    def keep(
        self, diagnostics: Iterable[Diagnostic], lines: Callable[[str], Sequence[str] | None]
    ) -> tuple[Diagnostic, ...]:
        """Return the diagnostics with a changed line, and those about files that cannot be analysed.

        A diagnostic has the lines of its place, of its labels and of the steps that lead to it, in whichever file.

        Args:
            diagnostics: with places in whole programs.
            lines: gives the lines of a file as it is now; None for one that cannot be read.
        """
        changed: dict[str, frozenset[int] | None] = {}

        def touches(place: Place) -> bool:
            if place.file not in changed:
                changed[place.file] = self._changed(place.file, lines(place.file))
            known = changed[place.file]
            return known is None or not known.isdisjoint(range(place.line, max(place.end_line, place.line) + 1))

        return tuple(one for one in diagnostics if one.code in ALWAYS or any(map(touches, one.story())))

    def _changed(self, file: str, now: Sequence[str] | None) -> frozenset[int] | None:
        """Return the changed lines of a file; None if all of them count as changed."""
        before = self._before(file)
        if before is None or now is None:
            return None
        matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
        return frozenset(
            line
            for kind, _, _, start, end in matcher.get_opcodes()
            if kind != "equal"
            for line in range(start + 1, end + 1)
        )

    def _hint(self) -> str:
        """Return how to get commits that a shallow clone lacks; "" in another repository."""
        answer = self._answers("rev-parse", "--is-shallow-repository") or b""
        return "; this clone is shallow: fetch its history" if answer.strip() == b"true" else ""

    def _before(self, file: str) -> tuple[str, ...] | None:
        """Return the lines of a file in the common commit; None if it had no such program.

        Raises:
            ConfigError: the file is in another repository, or in none.
        """
        path = Path(os.path.realpath(file))
        if not path.is_relative_to(self._top):
            shown = display_path(self._top)
            raise ConfigError(f"--diff-base: is not in the repository of the working folder, {shown}", path=file)
        name = path.relative_to(self._top).as_posix()
        data = self._answers("cat-file", "blob", f"{self._commit}:{name}", missing=None)
        if data is None:
            return None
        try:
            return lines_of(program_of(decode(data, file), file).original)
        except SourceError:
            return None

    def _ask(self, *command: str) -> bytes:
        found = self._answers(*command, missing=None)
        if found is None:
            raise ConfigError("--diff-base: the working folder is in no git repository")
        return found

    def _answers(self, *command: str, missing: bytes | None = b"") -> bytes | None:
        """Return the output of a git command; `missing` if it fails."""
        try:
            done = subprocess.run(
                [self._git, "-c", "protocol.allow=never", "--no-replace-objects", *command],
                env={**os.environ, "GIT_NO_LAZY_FETCH": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except OSError as error:
            raise ConfigError(f"--diff-base: git cannot be run: {error.strerror or error}") from error
        except subprocess.TimeoutExpired:
            raise ConfigError(f"--diff-base: git gave no answer within {_SECONDS} seconds") from None
        return done.stdout if done.returncode == 0 else missing


def _program() -> str:
    """Return the path of git. A program of that name in the working folder may be the repository's: it is not run.

    Raises:
        ConfigError: there is none.
    """
    found = shutil.which("git")
    if found is None or not os.path.isabs(found) or Path(found).parent == Path.cwd():
        raise ConfigError("--diff-base: git is not installed")
    return found
