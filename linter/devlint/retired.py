"""What devlint accepts without effect: an error would end a job whose configuration nobody changed.

Keys, options and commands are accepted for one release. Rules keep their codes and names; they report nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from devlint.records import dataclass

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


@dataclass(frozen=True, slots=True)
class Retired:
    """A rule that reports nothing.

    Attributes:
        code, names: as users may write them.
        heir: the rule that it becomes a part of.
        possible: the mistakes are reported at the level `possible` then.
    """

    code: str
    names: tuple[str, ...]
    heir: str
    possible: bool = True

    def is_called(self, text: str) -> bool:
        """Whether a text is its code or a name, in any case."""
        return text.strip().lower() in (self.code.lower(), *self.names)


RETIRED = (
    Retired("DEV109", ("cpu-result-on-one-path",), "DEV101"),
    Retired("DEV110", ("accumulator-on-own-device",), "DEV101"),
    Retired("DEV111", ("moved-on-one-path",), "DEV101"),
    Retired("DEV112", ("host-access-of-argument",), "DEV105"),
    Retired("DEV113", ("inconsistent-offload", "offloaded-beside-kept"), "DEV101"),
    Retired("DEV114", ("cpu-tensor-beside-unplaced-value",), "DEV103"),
    Retired("DEV115", ("cpu-table-indexed-by-input", "kept-tensor-indexed-by-argument"), "DEV104"),
    Retired("DEV116", ("cpu-tensor-handed-on",), "DEV103"),
    Retired("DEV207", ("tensor-in-plain-attribute",), "DEV201"),
    Retired("DEV208", ("unmoved-module",), "DEV102"),
    Retired("DEV209", ("cpu-layer-in-wrapper", "layer-beside-given-module"), "DEV103"),
    Retired("DEV307", ("cuda-beside-chosen-device",), "DEV301", possible=False),
    Retired("DEV308", ("device-of-offloaded-pipeline",), "DEV101"),
)


def remark(codes: Collection[str]) -> str:
    """Return a note on the retired rules among some codes; "" if there are none."""
    found = (one for one in RETIRED if one.code in codes)
    level = ', at the level "possible"'
    futures = "; ".join(f"{one.code} becomes a part of {one.heir}{level * one.possible}" for one in found)
    return futures and f"A retired rule reports nothing; in a later version, {futures}"
