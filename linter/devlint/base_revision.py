"""The commit that `--diff-base` compares with: reports that devlint makes there too are not new.

Only git objects and the configuration are read (`git rev-parse`, `merge-base`, `ls-tree`, `cat-file`, `config`). These
commands run no filter, no hook and no other program that a repository can name. Objects that a partial clone lacks are
not fetched: an empty `GIT_ALLOW_PROTOCOL` forbids each way to fetch, whatever the repository allows.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from devlint.decoding import read_bytes
from devlint.errors import ConfigError, SourceError
from devlint.project import display_path
from devlint.sources import MARKDOWN, NOTEBOOK

_SECONDS = 60
"""How long git may take for one answer."""

_SOURCES = (".py", NOTEBOOK, *MARKDOWN)

_PARTIAL = r"^(extensions\.partialclone|remote\..*\.promisor)$"
"""The keys in the configuration of a partial clone."""

_REGULAR = (b"100644", b"100755")
"""The modes of files; a link or another repository has another one."""

Past: TypeAlias = Mapping[Path, bytes | None]
"""The contents of files at the commit, by absolute path, where they differ from now; None for a file that is new."""


class BaseRevision:
    """The last common commit of HEAD and a base, in the repository of the working folder.

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

    def past(self, root: Path, files: Iterable[Path], given: Mapping[Path, bytes]) -> Past:
        """Return the source files of a project that differ at the commit.

        A file that git ignores, and that nobody names, stays as it is now.

        Args:
            root: the project's folder.
            files: all files of the project, as they are now.
            given: what stands for the content of files now, by absolute path.

        Raises:
            ConfigError: one of the files is in another repository, or in none.
        """
        real, now = Path(os.path.realpath(root)), {Path(os.path.realpath(path)): path for path in files}
        for path, shown in now.items():
            if not path.is_relative_to(self._top):
                where = display_path(self._top)
                message = f"--diff-base: is not in the repository of the working folder, {where}"
                raise ConfigError(message, path=display_path(shown))
        then = {
            path: name
            for path, name in self._tree.items()
            if path in now or (path.name.endswith(_SOURCES) and path.is_relative_to(real))
        }
        differing = [path for path, name in then.items() if not _has(path, name, given.get(now.get(path, path)))]
        blobs = self._blobs([then[path] for path in differing])
        past = {
            now.get(path) or root / path.relative_to(real): data for path, data in zip(differing, blobs, strict=True)
        }
        return {**past, **{shown: None for path, shown in now.items() if path not in then}}

    @cached_property
    def _tree(self) -> dict[Path, bytes]:
        """Return the files of the commit, each with the name of its content."""
        found: dict[Path, bytes] = {}
        for entry in self._ask("ls-tree", "-r", "-z", "--full-tree", self._commit).split(b"\0"):
            about, _, name = entry.partition(b"\t")
            if about.startswith(_REGULAR):
                found[self._top / os.fsdecode(name)] = about.split()[2]
        return found

    def _blobs(self, names: Sequence[bytes]) -> Iterator[bytes | None]:
        """Yield the contents with some names; None for one that a partial clone lacks."""
        if not names:
            return
        batch = self._run(("cat-file", "--batch"), b"".join(name + b"\n" for name in names))
        if batch.returncode != 0 and self._answers("config", "--get-regexp", _PARTIAL):
            # Before 2.45, git ends at a missing object if its forbidden fetch ends before git has said what to fetch.
            for name in names:
                alone = self._run(("cat-file", "blob", name.decode()))
                yield alone.stdout if alone.returncode == 0 else None
            return
        answer = self._checked(batch)
        start = 0
        for _ in names:
            end = answer.index(b"\n", start)
            _, kind, *size = answer[start:end].split(b" ")
            start = end + 1
            if kind == b"missing":
                yield None
                continue
            yield answer[start : start + int(size[0])]
            start += int(size[0]) + 1

    def _hint(self) -> str:
        """Return how to get commits that a shallow clone lacks; "" in another repository."""
        answer = self._answers("rev-parse", "--is-shallow-repository") or b""
        return "; this clone is shallow: fetch its history" if answer.strip() == b"true" else ""

    def _ask(self, *command: str) -> bytes:
        """Return the output of a git command.

        Raises:
            ConfigError: it fails, with what git says.
        """
        return self._checked(self._run(command))

    def _checked(self, done: subprocess.CompletedProcess[bytes]) -> bytes:
        """Return the output of a git command that has run; raises a ConfigError as `_ask` does."""
        if done.returncode != 0:
            said = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
            if "not a git repository" in said:
                raise ConfigError("--diff-base: the working folder is in no git repository")
            raise ConfigError(f"--diff-base: git says: {said}")
        return done.stdout

    def _answers(self, *command: str) -> bytes:
        """Return the output of a git command; nothing if it fails."""
        done = self._run(command)
        return done.stdout if done.returncode == 0 else b""

    def _run(self, command: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [self._git, "--no-replace-objects", *command],
                env={**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "LC_ALL": "C"},
                input=given,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except OSError as error:
            raise ConfigError(f"--diff-base: git cannot be run: {error.strerror or error}") from error
        except subprocess.TimeoutExpired:
            raise ConfigError(f"--diff-base: git gave no answer within {_SECONDS} seconds") from None


def _has(path: Path, name: bytes, given: bytes | None) -> bool:
    """Whether a file, or what stands for its content, has the name of git that is given."""
    try:
        data = read_bytes(path, str(path)) if given is None else given
    except SourceError:
        return False
    kind = "sha1" if len(name) == 40 else "sha256"
    return hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode() == name


def _program() -> str:
    """Return the path of git. A program of that name in the working folder may be the repository's: it is not run.

    Raises:
        ConfigError: there is none.
    """
    found = shutil.which("git")
    if found is None or not os.path.isabs(found) or Path(found).parent == Path.cwd():
        raise ConfigError("--diff-base: git is not installed")
    return found
