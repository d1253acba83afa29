"""Ways to break working code so that one kind of fix should mend it: a pattern, what takes its place, who notices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Mutation(NamedTuple):
    """One way.

    Attributes:
        kind: of the fix.
        pattern: what is looked for; the group `gone` is what the replacement takes the place of.
        replacement: as for `re.Match.expand`; None: the code is as it should not be already.
        codes: the rules of which one should report it.
        words: how the fix says what it does, a pattern for the beginning; other fixes are of another kind.
    """

    kind: str
    pattern: re.Pattern[str]
    replacement: str | None
    codes: tuple[str, ...]
    words: str = ""

    def texts(self, text: str) -> Iterator[tuple[int, str]]:
        """The text with one place broken, and the place's offset, for each place."""
        for match in self.pattern.finditer(text):
            start, end = match.span("gone")
            new = text[start:end] if self.replacement is None else match.expand(self.replacement)
            yield match.start(), text[:start] + new + text[end:]


def _mutation(kind: str, pattern: str, replacement: str | None, *codes: str, words: str = "") -> Mutation:
    return Mutation(kind, re.compile(pattern, re.MULTILINE), replacement, codes, words)


_NAME = r"[a-z_]\w*"
_FACTORIES = "ones|zeros|arange|randn|rand|full|eye|tensor|linspace"
_NESTED = r"[^()\n]*(?:\([^()\n]*\)[^()\n]*)*"
_TO = r"\.to\((?:device=)?[\w.]*device\)"
_MOVED = r"move (?!the module)|use `"
_MIXED = ("DEV101", "DEV102", "DEV103")

MUTATIONS = (
    _mutation(
        "keep a discarded move",
        rf"^ +(?P<gone>(?P<x>{_NAME}) = )(?P=x)\.(?:to|cuda|cpu)\([^()]*\)$",
        "",
        "DEV203",
    ),
    _mutation(
        "device= on a factory",
        rf"\btorch\.(?:{_FACTORIES})\([^()\n]*(?P<gone>, ?device ?= ?{_NAME}\.device)\)",
        "",
        "DEV101",
        "DEV103",
        "DEV104",
    ),
    _mutation(
        "register_buffer",
        r"^ +(?P<gone>self\.register_buffer\([\"'](?P<x>\w+)[\"'], (?P<v>torch\.\w+\([^()\n]*\))"
        r"(?:, persistent ?= ?\w+)?\))$",
        r"self.\g<x> = \g<v>",
        "DEV201",
    ),
    _mutation(
        "nn.ModuleList, nn.ModuleDict",
        r"(?P<gone>\bnn\.(?:ModuleList|ModuleDict)\((?P<v>[\[{][^()]*(?:\([^()]*\)[^()]*)*[\]}])\))",
        r"\g<v>",
        "DEV202",
    ),
    _mutation("copy for numpy", r"(?P<gone>(?:\.detach\(\))?\.cpu\(\))\.numpy\(\)", ".detach()", "DEV105"),
    _mutation("map_location=", r"\btorch\.load\([^()\n]*(?P<gone>, ?map_location ?= ?[^(),\n]+)[,)]", "", "DEV304"),
    _mutation(
        "a checked device",
        r"(?P<gone>[\"']cuda(?::0)?[\"'] if torch\.cuda\.is_available\(\) else [\"']cpu[\"'])",
        '"cuda:0"',
        "DEV301",
        "DEV302",
    ),
    _mutation("a checked device", r"(?P<gone>\.cuda\(\))", None, "DEV301"),
    _mutation("lengths on the CPU", r"pack_padded_sequence\([^)]*?(?P<gone>\.cpu\(\))", "", "DEV107"),
    # What an argument is indexed with, or what is kept and indexed with one, is on the CPU for a reason that stands
    # in the file; of an argument itself nobody knows where it is.
    _mutation("an index or table moved", rf"(?P<gone>{_TO})\[", "", "DEV104", words=_MOVED),
    _mutation("an index or table moved", rf"= self\.\w+(?P<gone>{_TO})$", "", "DEV104", words=_MOVED),
    _mutation(
        "an index or table moved",
        rf"^ +(?P<gone>(?P<x>self\.\w+) = (?P=x){_TO})$",
        "pass",
        "DEV104",
        words=_MOVED,
    ),
    _mutation(
        "an index or table moved", rf"^ +(?P<x>{_NAME}) = (?P=x)(?P<gone>{_TO})$", ".cpu()", "DEV104", words=_MOVED
    ),
    _mutation(
        "a batch or value moved",
        rf"\btorch\.(?:from_numpy|as_tensor|\w*Tensor)\({_NESTED}\)(?:\.\w+\({_NESTED}\))*(?P<gone>{_TO})",
        "",
        *_MIXED,
        words=_MOVED,
    ),
    _mutation("a batch or value moved", rf"= self\.\w+(?P<gone>{_TO})$", "", *_MIXED, words=_MOVED),
    _mutation("a batch or value moved", rf" [-+*/] {_NAME}(?P<gone>{_TO})", ".cpu()", *_MIXED, words=_MOVED),
    _mutation(
        "a batch or value moved", rf"^ +(?P<x>{_NAME}) = (?P=x)(?P<gone>{_TO})$", ".cpu()", *_MIXED, words=_MOVED
    ),
    _mutation("DataParallel ids", r"DataParallel\([^()\n]*(?P<gone>\))", ", device_ids=[0, 0])", "DEV401"),
)
