"""Temporary files: their names and locks, and the removal of those that a killed run has left.

A temporary file has one of two names. `.devlint-….partial` holds a new content that is not whole yet. Before such a
file exchanges its name with a file of the user, it is called `.devlint-….swap`, and this name says by digests which
two contents may stand under it. The file of a killed run is removed if no process holds its lock and its content is one
of the two; anything else may be what somebody has saved.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import time
from pathlib import Path
from types import TracebackType

from devlint.errors import OutputError

if sys.platform != "win32":
    import fcntl

_PARTIAL = re.compile(r"\.devlint-[0-9a-f]{16}\.partial")
_SWAP = re.compile(r"\.devlint-[0-9a-f]{16}-([0-9a-f]{32})-([0-9a-f]{32})\.swap")
_SECONDS_LEFT = 24 * 3600
"""A file that cannot be locked counts as left behind when it is so old."""


class Temporary:
    """A new file beside its target, for a `with` statement, which removes the file unless it got the target's name.

    Args:
        target: the file in whose folder it is.
        mode: its permissions, less those that the user gives to no file.

    Attributes:
        path: where it is.
        target: as given.
        descriptor: open for writing.
    """

    def __init__(self, target: Path, mode: int) -> None:
        self.target = target
        self.path = target
        self.descriptor = -1
        self._mode = mode

    def __enter__(self) -> Temporary:
        remove_leftovers(self.target.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while self.descriptor < 0:
            self.path = self.target.parent / f".devlint-{os.urandom(8).hex()}.partial"
            try:
                self.descriptor = os.open(self.path, flags, self._mode)
            except PermissionError as error:
                raise OutputError("cannot be written: its folder is read-only") from error
            # Before the file was locked, another run may have taken it for one that was left.
            if _lock(self.descriptor) is False or os.fstat(self.descriptor).st_nlink == 0:
                self._close()
                _discard(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if _PARTIAL.fullmatch(self.path.name):
            _discard(self.path)
        else:
            _remove_if_left(self.path)

    def write(self, data: bytes) -> None:
        """Write the content, down to the disk."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]
        os.fsync(self.descriptor)

    def hold(self, before: bytes, after: bytes) -> None:
        """Take the name under which one of two contents may stand."""
        stem = self.path.name.removesuffix(".partial")
        whole = self.path.with_name(f"{stem}-{_digest(before)}-{_digest(after)}.swap")
        if sys.platform == "win32":
            self._close()
        os.rename(self.path, whole)
        self.path = whole

    def replace(self) -> None:
        """Take the target's name, also from an existing file."""
        if sys.platform == "win32":
            self._close()
        os.replace(self.path, self.target)

    def appear(self) -> None:
        """Take the target's name.

        Raises:
            FileExistsError: a file has it.
        """
        try:
            os.link(self.path, self.target)
        except FileExistsError:
            raise
        except OSError as error:  # the file system has no hard links
            if os.path.lexists(self.target):
                raise FileExistsError from error
            self.replace()

    def discard(self) -> None:
        """Remove what stands under the temporary name now."""
        _discard(self.path)

    def _close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the temporary files that killed runs have left in a folder.

    Returns:
        The ones that stay, because they hold what somebody has saved in the moment in which a run was killed.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(".devlint-"))
    except OSError:
        return []
    return [folder / name for name in names if _remove_if_left(folder / name)]


def share(descriptor: int) -> None:
    """Tell other runs that a file is in use, as far as it can be locked."""
    _lock(descriptor, exclusively=False)


def without_following(path: str | Path, flags: int) -> int:
    """Open a file for `open`; a link is refused, and a pipe is not waited for."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _remove_if_left(path: Path) -> bool:
    """Remove a temporary file if no run has it any more; whether it stays because its content is not one of ours."""
    whole = _SWAP.fullmatch(path.name)
    if whole is None and not _PARTIAL.fullmatch(path.name):
        return False
    with contextlib.suppress(OSError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with open(path, "rb", opener=without_following) as file:
            if _is_in_use(file.fileno()):
                return False
            is_ours = whole is None or _digest(file.read()) in whole.groups()
        if is_ours:
            _discard(path)
        return not is_ours
    return False


def _is_in_use(descriptor: int) -> bool:
    """Whether a run may still work on a temporary file: it has the lock, or nobody can have it and the file is new."""
    is_free = _lock(descriptor)
    if is_free is None:
        return time.time() - os.fstat(descriptor).st_mtime < _SECONDS_LEFT
    return not is_free


def _lock(descriptor: int, *, exclusively: bool = True) -> bool | None:
    """Lock a file until it is closed; whether that was possible, None where files cannot be locked."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusively else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
