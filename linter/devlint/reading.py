"""Reading files that a repository may have prepared: regular ones of a bounded size, and where links lead."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

LARGEST = 64 * 1024 * 1024
"""Bytes of a source file or baseline; a larger file is refused."""

LARGEST_SETTINGS = 1024 * 1024
"""Bytes of a file that people write settings, patterns or signatures in."""

_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK"))


def read_file(path: Path | str, most: int = LARGEST) -> bytes:
    """Return the content of a regular file.

    A pipe, a device or a folder is never opened, so that reading cannot wait, and cannot act on anything. The files
    that a kernel makes up, such as those in `/proc`, hold more than their size says, and are refused as well.

    Args:
        path: the file; a link is followed.
        most: the largest size in bytes.

    Raises:
        OSError: the file cannot be read; `strerror` says why.
    """
    require_plain(path, most)
    descriptor = os.open(path, _FLAGS)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _require_plain(status, path, most)
        data = file.read(most + 1)
    if data and not status.st_size:
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if len(data) > most:
        raise _too_large(path, most)
    return data


def require_plain(path: Path | str, most: int) -> None:
    """Find out whether a file can be read, without opening it.

    Raises:
        OSError: as for `read_file`.
    """
    _require_plain(os.stat(path), path, most)


def _require_plain(status: os.stat_result, path: Path | str, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if status.st_size > most:
        raise _too_large(path, most)


def _too_large(path: Path | str, most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most // 1024 // 1024} MiB", str(path))


def leads_out(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path, after all links in it, is in none of some folders; it need not exist."""
    target = Path(os.path.realpath(path))
    return not any(target.is_relative_to(os.path.realpath(folder)) for folder in folders)
