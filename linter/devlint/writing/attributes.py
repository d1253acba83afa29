"""What a file has besides its content, and keeps when another file takes its place: owner, group, mode, attributes."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from devlint.errors import OutputError

_SECURITY = "security."
"""Attributes that the kernel computes, such as `security.ima`, or that only the administrator may set."""

_LABELS = ("security.selinux", "security.SMACK64")
"""The ones among them that are worth a try."""


def keep(path: Path, old: os.stat_result, new: int) -> None:
    """Give a new file the owner, the group, the mode and, on Linux, the extended attributes of an old one.

    Access control lists are extended attributes. What the folder gives to new files, and the old one has not, goes.

    Args:
        path: the old file.
        old: what `os.stat` says of it.
        new: a descriptor of the new file.

    Raises:
        OutputError: one of these cannot be kept.
    """
    if sys.platform == "win32":
        return
    made = os.fstat(new)
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(new, old.st_uid, old.st_gid)
        except OSError as error:
            raise OutputError(
                f"cannot be written: its owner and group ({old.st_uid}:{old.st_gid}) cannot be kept"
            ) from error
    if sys.platform == "linux":
        _keep_extended(path, new)
    os.fchmod(new, stat.S_IMODE(old.st_mode))


def _keep_extended(path: Path, new: int) -> None:
    if sys.platform != "linux":
        return
    wanted, made = _extended(path), _extended(new)
    for name in made.keys() - wanted.keys():
        if not name.startswith(_SECURITY):
            os.removexattr(new, name)
    for name, value in wanted.items():
        if name in _LABELS:
            with contextlib.suppress(OSError):
                os.setxattr(new, name, value)
        elif not name.startswith(_SECURITY) and made.get(name) != value:
            try:
                os.setxattr(new, name, value)
            except OSError as error:
                raise OutputError(f"cannot be written: its attribute {name} cannot be kept") from error


def _extended(file: Path | int) -> dict[str, bytes]:
    """Return the extended attributes of a file; none where the file system has none."""
    if sys.platform != "linux":
        return {}
    try:
        return {name: os.getxattr(file, name) for name in os.listxattr(file)}
    except OSError:
        return {}
