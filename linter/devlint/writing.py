"""Files that devlint writes: whole or not at all, and never over a change that somebody else has made meanwhile.

Each file is written to a temporary file beside it, which then takes the file's name in one step.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from devlint.errors import OutputError
from devlint.reading import read_file

_CHANGED = "has changed while devlint looked at it, and is not written"


def replace_file(path: Path, data: bytes) -> None:
    """Give a file a new content, over any old one; a reader meanwhile sees the old content or the new one.

    A symbolic link stays one. A device or a pipe, such as `/dev/stdout`, is written to.

    Raises:
        OutputError: it cannot be written; then it is as it was.
    """
    with _naming(path):
        try:
            old = os.stat(path)
        except FileNotFoundError:
            old = None
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(path, "wb") as file:
                file.write(data)
            return
        target = Path(os.path.realpath(path))
        with _beside(target, old, data) as new:
            _replace(new, target)


def create_file(path: Path, data: bytes) -> None:
    """Write a file that is not there yet.

    Raises:
        OutputError: it is there, or cannot be written.
    """
    with _naming(path), _beside(path, None, data) as new:
        if os.path.lexists(path):
            raise OutputError(_CHANGED)
        _replace(new, path)


def change_file(path: Path, before: bytes, after: bytes) -> None:
    """Give a file a new content if it still has the known one; a file that has the new one already stays.

    Args:
        path: where the file is; a symbolic link is refused.
        before: the content that it is known to have.
        after: the new content.

    Raises:
        OutputError: it has changed, or cannot be written; then it is as it was, or as somebody else has saved it.
    """
    with _naming(path):
        old, now = _look(path)
        if now == after:
            return
        if now != before:
            raise OutputError(_CHANGED)
        with _beside(path, old, after) as new:
            status, now = _look(path)
            if now != before or _identity(status) != _identity(old):
                raise OutputError(_CHANGED)
            _replace(new, path)


def require_changeable(path: Path) -> None:
    """Refuse a file that `change_file` would refuse whatever its content is.

    Raises:
        OutputError: it is read-only, or has several names.
    """
    with _naming(path):
        _require_replaceable(path, _look(path)[0])


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the failures of writing a file into errors that name it."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", path=str(path)) from error
    except OutputError as error:
        raise OutputError(error.message, path=str(path)) from error


def _look(path: Path) -> tuple[os.stat_result, bytes]:
    """Return what the system says of a regular file, and its content.

    Raises:
        OutputError: a link has taken its place, or it is gone.
    """
    with contextlib.suppress(FileNotFoundError):
        data, status = read_file(path), os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            return status, data
    raise OutputError(_CHANGED)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is replaced, or given to somebody else."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_nlink)


def _require_replaceable(path: Path, old: os.stat_result) -> None:
    """Refuse a file that only seems to be replaced by a new one of its name.

    The administrator may write any file, but its owner has said that nobody should.
    """
    if not (os.access(path, os.W_OK) and old.st_mode & 0o222):
        raise OutputError("cannot be written: it is read-only")
    if old.st_nlink > 1:
        raise OutputError("cannot be written: it has other names (hard links), which would keep the old content")


@contextlib.contextmanager
def _beside(target: Path, old: os.stat_result | None, data: bytes) -> Iterator[Path]:
    """Write a temporary file beside its target, with all that an old file has besides its content."""
    if old is not None:
        _require_replaceable(target, old)
    new = target.parent / f".devlint-{os.urandom(8).hex()}.partial"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        try:
            descriptor = os.open(new, flags, 0o666 if old is None else 0o600)
        except PermissionError as error:
            raise OutputError("cannot be written: its folder is read-only") from error
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            _keep(target, old, new)
        yield new
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)


def _keep(target: Path, old: os.stat_result, new: Path) -> None:
    """Give a new file the owner, the mode and, on Linux, the extended attributes of an old one, but its own time."""
    made = os.stat(new)
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(new, old.st_uid, old.st_gid)
        except OSError as error:
            message = f"cannot be written: its owner and group ({old.st_uid}:{old.st_gid}) cannot be kept"
            raise OutputError(message) from error
    shutil.copystat(target, new)
    os.utime(new)


def _replace(new: Path, target: Path) -> None:
    try:
        os.replace(new, target)
    except PermissionError as error:  # in a folder that can be written: on Windows, the target is open
        raise OutputError("cannot be written: another program may have it open") from error
