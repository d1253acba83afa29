"""Colours for the text formats, or none."""

from __future__ import annotations

from collections.abc import Mapping

from devlint.records import dataclass

_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Palette:
    """Paints text if `on`; each method is one role in a report."""

    on: bool

    def _paint(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}{_RESET}" if self.on and text else text

    def error(self, text: str) -> str:
        """The word `error` and what belongs to it."""
        return self._paint("1;31", text)

    def warning(self, text: str) -> str:
        """The word `warning` and what belongs to it."""
        return self._paint("1;33", text)

    def note(self, text: str) -> str:
        """The words `note` and `help`."""
        return self._paint("1;36", text)

    def strong(self, text: str) -> str:
        """What the eye should find first."""
        return self._paint("1", text)

    def frame(self, text: str) -> str:
        """Line numbers, bars and arrows around a source excerpt."""
        return self._paint("1;34", text)


def wants_colour(choice: str, *, terminal: bool, environ: Mapping[str, str]) -> bool:
    """Decide on colour: `--color` first, then `NO_COLOR`, `FORCE_COLOR`, and what the terminal is."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return terminal and environ.get("TERM") != "dumb"
