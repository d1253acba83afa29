"""Two things that only Linux does with files: it exchanges two names in one step, and knows which files are written."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

if sys.platform == "linux":
    import fcntl

_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
"""How a system, a file system or a sandbox says that it cannot exchange names."""


def exchange(first: Path, second: Path) -> bool:
    """Exchange the names of two files in one step; links are exchanged, not followed.

    Returns:
        False if the system or the file system cannot do so; then nothing has changed.

    Raises:
        OSError: one of them is not there, or may not be renamed.
    """
    call = _renameat2()
    if call is None:
        return False
    number = call(os.fsencode(first), os.fsencode(second))
    if number and number not in _CANNOT:
        raise OSError(number, os.strerror(number), str(second))
    return not number


@functools.cache
def _renameat2() -> Callable[[bytes, bytes], int] | None:
    """Return what exchanges two names and returns 0 or an error number: `renameat2` of the C library, if it has it."""
    if sys.platform != "linux":
        return None
    working_directory, and_exchange = -100, 2  # AT_FDCWD of <fcntl.h>, RENAME_EXCHANGE of <linux/fs.h>
    try:
        import ctypes

        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, OSError, AttributeError):
        return None

    def call(first: bytes, second: bytes) -> int:
        failed = function(
            working_directory,
            ctypes.c_char_p(first),
            working_directory,
            ctypes.c_char_p(second),
            ctypes.c_uint(and_exchange),
        )
        return ctypes.get_errno() if failed else 0

    return call


def is_open_for_writing(descriptor: int) -> bool:
    """Whether a process has the file open for writing; false where that cannot be found out.

    The kernel gives a read lease on a file only if no process has it open for writing (`fcntl(2)`, "Leases").
    """
    if sys.platform != "linux":
        return False
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # by default ignored, unlike the usual SIGIO
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False
