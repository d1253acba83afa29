"""`--add-ignore`: comments that silence the reports of a run, each with the reason of the user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from devlint.decoding import decode, read_bytes
from devlint.diagnostics import Diagnostic, Edit, Place
from devlint.errors import DevlintError, SourceError
from devlint.fixes import Change, apply_to_bytes
from devlint.selection import ALWAYS
from devlint.sources import program_of
from devlint.suppressions import ABOUT_SUPPRESSIONS, Insertion, insertion_for


def add_ignores(diagnostics: Iterable[Diagnostic], reason: str) -> tuple[tuple[Change, ...], tuple[DevlintError, ...]]:
    """Return the files with a comment for each diagnostic, and the reasons why some get none. It writes nothing.

    A file that cannot be analysed, and a diagnostic about a suppression, get no comment.

    Args:
        diagnostics: with places in whole programs.
        reason: the words behind the brackets.
    """
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.code not in (*ALWAYS, *ABOUT_SUPPRESSIONS):
            by_file.setdefault(diagnostic.place.file, []).append(diagnostic)
    changes: list[Change] = []
    problems: list[DevlintError] = []
    for file, own in sorted(by_file.items()):
        change, refused = _in_file(file, own, reason)
        problems += refused
        if change is not None and change.settled:
            changes.append(change)
    return tuple(changes), tuple(problems)


def _in_file(file: str, diagnostics: Sequence[Diagnostic], reason: str) -> tuple[Change | None, list[DevlintError]]:
    try:
        return _with_comments(file, diagnostics, reason)
    except SourceError as error:
        return None, [error]
    except ValueError as error:
        return None, [SourceError(f"no comment can be added: {error}", path=file)]


def _with_comments(file: str, diagnostics: Sequence[Diagnostic], reason: str) -> tuple[Change, list[DevlintError]]:
    data = read_bytes(Path(file), file)
    text = program_of(decode(data, file), file).text
    codes: dict[Insertion, dict[str, int]] = {}
    refused: list[DevlintError] = []
    for one in diagnostics:
        where = insertion_for(text, one)
        if where is None:
            refused.append(SourceError(f"no comment can be added for {one.code}", path=file, line=one.place.line))
        else:
            counts = codes.setdefault(where, {})
            counts[one.code] = counts.get(one.code, 0) + 1
    edits = [
        Edit(Place(file, where.line, where.column, where.line, where.column), where.text(sorted(counts), reason))
        for where, counts in sorted(codes.items())
    ]
    settled = sum(sum(counts.values()) for counts in codes.values())
    return Change(Path(os.path.abspath(file)), file, data, apply_to_bytes(data, edits, file), settled), refused
