"""The three ways to write a file: over anything, over a known content, and where no file is yet.

Each writes a temporary file beside the target first, and then gives it the target's name in one step.

`change_file` compares the content immediately before that step, and on Linux once more after it: the two files
exchange their names, so that the old file is still there, whatever an editor did to it or put in its place meanwhile.
If the old file is not the known one, the two exchange their names again. Elsewhere a save is lost that falls between
the comparison and the step.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from devlint.errors import OutputError
from devlint.writing import attributes
from devlint.writing.exchange import exchange, is_open_for_writing
from devlint.writing.temporary import Temporary, share, without_following

_CHANGED = "has changed while devlint looked at it, and is not written"


def replace_file(path: Path, data: bytes) -> None:
    """Give a file a new content, over any old one; a reader meanwhile sees the old content or the new one.

    A symbolic link stays one. A device or a pipe, such as `/dev/stdout`, is written to.

    Raises:
        OutputError: it cannot be written; then it is as it was.
    """
    with _naming(path):
        target = Path(os.path.realpath(path))
        try:
            old = os.stat(path)
        except FileNotFoundError:
            old = None
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(path, "wb") as file:
                file.write(data)
            return
        with Temporary(target, 0o666 if old is None else 0o600) as new:
            new.write(data)
            if old is not None:
                _require_replaceable(target, old)
                attributes.keep(target, old, new.descriptor)
            new.replace()


def create_file(path: Path, data: bytes) -> None:
    """Write a file that is not there yet.

    Raises:
        OutputError: it is there, or cannot be written.
    """
    with _naming(path), Temporary(path, 0o666) as new:
        new.write(data)
        try:
            new.appear()
        except FileExistsError:
            raise OutputError(_CHANGED) from None


def change_file(path: Path, before: bytes, after: bytes) -> None:
    """Give a file a new content if it still has the known one; a file that has the new one already stays.

    Args:
        path: where the file is; a symbolic link is refused.
        before: the content that it is known to have.
        after: the new content.

    Raises:
        OutputError: it has changed, or cannot be written; then it is as it was, or as somebody else has saved it.
    """
    with _naming(path), _opened(path) as (old, status):
        now = _content(old)
        if now == after:
            return
        if now != before:
            raise OutputError(_CHANGED)
        _require_replaceable(path, status)
        with Temporary(path, 0o600) as new:
            new.write(after)
            attributes.keep(path, status, new.descriptor)
            new.hold(before, after)
            share(old.fileno())
            if not _put(new, old, status, before):
                raise OutputError(_CHANGED)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the failures of writing a file into errors that name it."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", path=str(path)) from error
    except OutputError as error:
        raise OutputError(error.message, path=str(path)) from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], os.stat_result]]:
    """Open a regular file for reading, and say which file it is.

    Raises:
        OutputError: a link, a folder or a device has taken its place, or it is gone.
    """
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise OutputError(_CHANGED)
        descriptor = without_following(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise OutputError(_CHANGED) from None
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        yield file, status


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def require_changeable(path: Path) -> None:
    """Refuse a file that `change_file` would refuse whatever its content is.

    Raises:
        OutputError: it is read-only, or has several names.
    """
    with _naming(path), _opened(path) as (_, status):
        _require_replaceable(path, status)


def _require_replaceable(path: Path, old: os.stat_result) -> None:
    """Refuse a file that only seems to be replaced by a new one of its name.

    The administrator may write any file, but its owner has said that nobody should.
    """
    if not (os.access(path, os.W_OK) and old.st_mode & 0o222):
        raise OutputError("cannot be written: it is read-only")
    if old.st_nlink > 1:
        raise OutputError("cannot be written: it has other names (hard links), which would keep the old content")


def _put(new: Temporary, old: IO[bytes], status: os.stat_result, before: bytes) -> bool:
    """Put a new file in the place of an old one; whether the old one was as it is known to be."""

    def is_known(path: Path) -> bool:
        """Whether a name leads to the old file, nobody writes it, and it has the known content."""
        with contextlib.suppress(FileNotFoundError):
            is_same = _identity(os.lstat(path)) == _identity(status)
            return is_same and not is_open_for_writing(old.fileno()) and _content(old) == before
        return False

    if not is_known(new.target):
        return False
    if not exchange(new.path, new.target):
        if sys.platform == "win32":  # where a file that is open cannot be replaced
            old.close()
        new.replace()
        return True
    if is_known(new.path):
        new.discard()
        return True
    _put_back(new)
    return False


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is replaced, moved away, or given to somebody else."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_nlink)


def _put_back(new: Temporary) -> None:
    """Give back its name to a file that has come out in the place of the known one.

    Until that is done, somebody may save a still newer file under the name; then that one comes out, and goes back.

    Raises:
        OutputError: the name is gone; the file that came out stays under its temporary name.
    """
    placed = os.fstat(new.descriptor).st_ino
    while True:
        out = os.lstat(new.path).st_ino
        try:
            exchange(new.path, new.target)
        except OSError as error:
            raise OutputError(f"was removed meanwhile; its last content is in {new.path.name}") from error
        if os.lstat(new.path).st_ino == placed:
            new.discard()
            return
        placed = out
