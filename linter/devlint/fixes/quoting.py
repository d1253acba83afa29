"""File names in a diff, as git writes them: no name adds a line, and `git apply` and `patch` read each name back."""

from __future__ import annotations

from devlint.quoting import printable

_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
"""The bytes that have a letter of their own in C."""


def quoted(name: str) -> bytes:
    """Return a file name in UTF-8, in quotes and with the escapes of C if a diff cannot show it as it is.

    Like git, devlint quotes control characters, quotes, backslashes, and bytes that are not UTF-8. It also quotes
    characters without a shape, such as the marks that turn the direction of a text, and a name that begins with a
    blank, which `patch` would skip.

    Args:
        name: as Python decodes it from the file system: bytes that are not UTF-8 are surrogates.
    """
    if all(map(_is_seen, name)) and not name.startswith(" ") and '"' not in name and "\\" not in name:
        return name.encode()
    return f'"{"".join(map(_escaped, name))}"'.encode()


def _is_seen(character: str) -> bool:
    return character.isprintable() and printable(character) == character


def _escaped(character: str) -> str:
    if _is_seen(character) and character not in '"\\':
        return character
    data = character.encode("utf-8", "surrogateescape")
    return "".join(f"\\{_ESCAPES[byte]}" if byte in _ESCAPES else f"\\{byte:03o}" for byte in data)


def header(name: str) -> bytes:
    """Return a file name for the two lines that begin the diff of a file.

    A tab ends a name with blanks, as in git: without it, `patch` takes the first blank for the end.
    """
    shown = quoted(name)
    return shown + b"\t" if b" " in shown and not shown.startswith(b'"') else shown
