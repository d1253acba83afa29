"""Pages of rules as files, for editors that link to a page of a site which does not exist."""

from __future__ import annotations

from pathlib import Path

from devlint.cache import storage


def page_file(folder: Path, code: str, text: str) -> str | None:
    """Return the address of a file with the documentation of a rule; None if it cannot be written.

    Args:
        folder: the folder of the cache.
        code: the code of the rule.
        text: its documentation.
    """
    path = folder / "pages" / f"{code}.md"
    if _content(path) != text:
        storage.put_text(path, text)
    return path.absolute().as_uri() if _content(path) == text else None


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
