"""What devlint accepts without effect for one release: an error would end a job whose configuration nobody changed."""

from __future__ import annotations

from typing import Final

KEYS: Final = ("observed",)
"""Keys of configuration files."""

_REASONS: Final = {
    "observed": "devlint uses no recorded runs",
    "--observed": "devlint uses no recorded runs",
    "devlint graph": "`devlint show` prints the source with the device of each value",
}


def note(name: str) -> str:
    """Return the note on a retired key, option or command."""
    return f"`{name}` has no effect, and the next release refuses it: {_REASONS[name]}"
