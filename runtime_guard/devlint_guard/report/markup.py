"""Pieces of the page: text, devices in their colours, sizes."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable

from devlint_guard.finding import Place
from devlint_guard.program.quoting import printable_lines
from devlint_guard.report.record import Held

_FIRST_COLOUR = {"cuda": 0, "xpu": 3, "mps": 4}
_COLOURS = 6


def colour(device: str) -> str:
    """The style of a device, the one that devlint's other pages have for it."""
    kind, _, index = device.partition(":")
    if device in ("cpu", "meta"):
        return device
    if not re.fullmatch(r"[a-z]+(:\d{1,4})?", device):
        return "several"
    return f"a{(_FIRST_COLOUR.get(kind, _COLOURS - 1) + int(index or 0)) % _COLOURS}"


def chip(device: str) -> str:
    """A device in its colour."""
    return f'<span class="chip {colour(device)}">{escape(device)}</span>'


_UNITS = ("B", "kB", "MB", "GB", "TB")


def bytes_of(size: int) -> str:
    """A number of bytes for people: `1.5 kB`."""
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {_UNITS[unit]}"


def counted(number: int, noun: str) -> str:
    """`1 copy`, `2 copies`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def escape(text: str) -> str:
    """Text as HTML, quoted, so that it can only be read."""
    return html.escape(printable_lines(text))


def marked(text: str) -> str:
    """A sentence as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def stack(spread: Counter[str], kind: str) -> str:
    """A bar with a stretch for each device."""
    total = sum(spread.values()) or 1
    stretches = "".join(
        f'<i class="{colour(device)}" style="width:{100 * size / total:.2f}%" '
        f'title="{escape(device)}: {bytes_of(size)}"></i>'
        for device, size in sorted(spread.items())
    )
    return f'<span class="stack {kind}" aria-hidden="true">{stretches}</span>'


def spread_of(held: Iterable[Held]) -> Counter[str]:
    """How many bytes are on each device."""
    spread: Counter[str] = Counter()
    for one in held:
        # An empty tensor is somewhere, too.
        spread[one.device] += max(one.bytes, 1)
    return spread


def at(place: Place) -> str:
    """`train.py:3 in train`."""
    inside = f" in {place.function}" if place.function and place.function != "<module>" else ""
    return f"{place.file}:{place.line}{inside}"
