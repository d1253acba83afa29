"""Files that fixes change: puts them on the disk, or shows the difference."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from devlint.errors import DevlintError, OutputError
from devlint.fixes.quoting import header
from devlint.project import root_for
from devlint.records import dataclass
from devlint.writing import change_file, require_changeable


@dataclass(frozen=True, slots=True)
class Change:
    """One file that fixes change, its content before and after, and how many diagnostics that settles."""

    path: Path
    display: str
    before: bytes
    after: bytes
    settled: int


def obstacle(path: Path, display: str) -> OutputError | None:
    """Return why any change of a file would be refused; None if there is no reason known before the change.

    Args:
        path: the file; a link stands for the file that it leads to.
        display: its name, as shown to the user.
    """
    try:
        require_changeable(path.resolve())
    except OutputError as error:
        return OutputError(error.message, path=display)
    return None


def write(changes: Iterable[Change]) -> dict[Change, DevlintError]:
    """Give each file its new content in one step; a link still leads to it, and all but its content stays.

    Args:
        changes: each of another file.

    Returns:
        Why changes were not written: the file cannot be written, has changed since it was read, or is a link out of
        the project.
    """
    problems = {change: _write(change) for change in changes}
    return {change: problem for change, problem in problems.items() if problem is not None}


def _write(change: Change) -> DevlintError | None:
    target = change.path.resolve()
    if not any(target.is_relative_to(top.resolve()) for top in (root_for(change.path), Path.cwd())):
        return OutputError("leads out of the project, and is not fixed", path=change.display)
    try:
        change_file(target, change.before, change.after)
    except OutputError as error:
        return OutputError(error.message, path=change.display)
    return None


def unified_diff(changes: Iterable[Change]) -> bytes:
    """Return the changes as `patch` takes them: in bytes, so that each file keeps its encoding and line ends."""
    rows: list[bytes] = []
    for change in changes:
        name = header(change.display)
        before, after = _lines(change.before), _lines(change.after)
        diff = difflib.diff_bytes(difflib.unified_diff, before, after, name, name)
        rows += [row if row.endswith(b"\n") else row + b"\n\\ No newline at end of file\n" for row in diff]
    return b"".join(rows)


def _lines(data: bytes) -> list[bytes]:
    """The lines with their ends; only a line feed ends one, as for `patch`."""
    *lines, last = data.split(b"\n")
    return [*(line + b"\n" for line in lines), *([last] if last else [])]
