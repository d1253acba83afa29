"""Text of a stranger, such as a file name or a source line, so that it can only be read.

The linter quotes in the same way; the guard stands alone, so that it has the table once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ACTS = (
    "\x00-\x1f\x7f-\x9f\u2028\u2029"  # controls and line ends
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"  # order, invisible
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    "\ud800-\udfff\ufdd0-\ufdef"  # no characters: halves of them, bytes of names that are not UTF-8
) + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
"""Characters that do something other than stand in their place.

They move the cursor, end a line, turn the order of reading, cannot be encoded, or cannot be seen: the format characters
of Unicode (Cf), those that a font may ignore (Default_Ignorable_Code_Point), and fillers without a shape.
"""

_COMMAND_ANYWHERE = r"(?<=#)#(?=\[)"
"""The runner of GitHub Actions takes `##[…]` anywhere in a line for a command."""

_ONE_LINE = re.compile(f"(?!\t)[{_ACTS}]|{_COMMAND_ANYWHERE}")
_SEVERAL_LINES = re.compile(f"(?![\t\n])[{_ACTS}]|{_COMMAND_ANYWHERE}")
_NO_CHARACTER = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Returns text on one line: each character that acts is written as in Python, `\x1b` or `\u202e`; tabs stay."""
    return _ONE_LINE.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Returns text of several lines like `printable`."""
    return _SEVERAL_LINES.sub(_escaped, text)


def encodable(document: object) -> object:
    """Returns a document of dictionaries, lists and strings in which each string has a form in UTF-8.

    A byte of a file name that is not UTF-8 becomes the text that `printable` writes for it.
    """
    if isinstance(document, str):
        return _NO_CHARACTER.sub(_escaped, document)
    if isinstance(document, Mapping):
        return {encodable(str(key)): encodable(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [encodable(entry) for entry in document]
    return document


def _escaped(match: re.Match[str]) -> str:
    return r"\x23" if match[0] == "#" else ascii(match[0])[1:-1]
