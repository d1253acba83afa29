"""Files that devlint writes: whole or not at all, and never over a change that somebody else has made meanwhile.

Each file is written to a temporary file beside it, which then takes the file's name in one step.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
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
        if old is None or stat.S_ISREG(old.st_mode):
            _put(Path(os.path.realpath(path)), data, old)
        else:
            with open(path, "wb") as file:
                file.write(data)


def create_file(path: Path, data: bytes) -> None:
    """Write a file that is not there yet.

    Raises:
        OutputError: it is there, or cannot be written.
    """
    with _naming(path):
        _put(path, data, None, lambda: not os.path.lexists(path))


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

        def is_as_before() -> bool:  # the quickest look is the last one
            return _look(path)[1] == before and _identity(os.lstat(path)) == _identity(old)

        _put(path, after, old, is_as_before)


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
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            return status, read_file(path)
    raise OutputError(_CHANGED)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is written, replaced, or given to somebody else."""
    file = (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_nlink)
    return (*file, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _require_replaceable(path: Path, old: os.stat_result) -> None:
    """Refuse a file that only seems to be replaced by a new one of its name.

    The administrator may write any file, but its owner has said that nobody should.
    """
    if not (os.access(path, os.W_OK) and old.st_mode & 0o222):
        raise OutputError("cannot be written: it is read-only")
    if old.st_nlink > 1:
        raise OutputError("cannot be written: it has other names (hard links), which would keep the old content")


def _put(target: Path, data: bytes, old: os.stat_result | None, is_free: Callable[[], bool] = lambda: True) -> None:
    """Put a new file in the place of an old one, if at last nothing speaks against it."""
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
        if not is_free():
            raise OutputError(_CHANGED)
        try:
            os.replace(new, target)
        except PermissionError as error:  # in a folder that can be written: on Windows, the target is open
            raise OutputError("cannot be written: another program may have it open") from error
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
