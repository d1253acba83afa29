"""Where the documentation of devlint is, from the metadata of the installed package; `pyproject.toml` alone sets it."""

from __future__ import annotations

from functools import cache

_RESERVED = "https://example.org"
"""The beginning of an address that nobody has set: this host belongs to no one."""


@cache
def documentation() -> str | None:
    """Return the address of the documentation without a slash at the end.

    None if devlint is not installed, or if its metadata has only the address that stands for none.
    """
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("devlint").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(str(entry).split(", ", 1) for entry in urls)
    address = named.get("Documentation", _RESERVED).rstrip("/")
    return None if address.startswith(_RESERVED) else address


def page_of(code: str) -> str | None:
    """Return the address of the page of one of devlint's own rules, which never changes; None without documentation."""
    address = documentation()
    return None if address is None else f"{address}/rules/{code}/"
