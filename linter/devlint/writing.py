"""Writing files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from devlint.errors import OutputError


def replace_file(path: Path, data: bytes) -> None:
    """Give a file a new content; whoever reads it meanwhile sees the old one or the new one, never a part.

    A symbolic link stays one, and a file that exists keeps its permissions.

    Raises:
        OutputError: it cannot be written; then it is as it was.
    """
    import tempfile

    target = Path(os.path.realpath(path))
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise OutputError(f"cannot be written: {error.strerror or error}", path=str(path)) from error


def _mode(path: Path) -> int:
    """Return the permissions that a file has, or would get if it were created now."""
    try:
        return path.stat().st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
