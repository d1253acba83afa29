"""What a run has seen of the user's functions: plain data, which the linter takes for facts where it knows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from devlint_guard.errors import GuardUsageError

VERSION: Final = 1
"""Of the form; rises when a reader of the old one would misunderstand the new one."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one place has held, over all calls that were looked at.

    Attributes:
        kinds: `tensor`, `module`, `device` (or what names one), `dict`, `list`, `tuple`, `none`, `other`; sorted.
        devices: where the tensors, the modules' parameters and buffers were, and what the devices named; sorted.
        sizes: how many dimensions tensors had, and how many elements lists and tuples; sorted.
    """

    kinds: tuple[str, ...]
    devices: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """A function or method of the user's that was called.

    Attributes:
        file: as in `Place`.
        function: its dotted path in the file: `Net.forward`.
        line: where its `def` stands.
        digest: a name for its text, to compare the source with the recorded one.
        calls: how often it was called.
        entry: its arguments, by path: `x`, `batch['mask']`, `self.scale`, `batch.source`.
        exit: the values of its variables at its return, and its result as `return`.
    """

    file: str
    function: str
    line: int
    digest: str
    calls: int
    entry: Mapping[str, Seen] = field(default_factory=dict)
    exit: Mapping[str, Seen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What one process has seen; in the processes of one job the same place may be on another device in each.

    Attributes:
        rank: None in a job of one process.
        problem: why nothing could be looked at; empty if something could.
        functions: ordered by file and line.
    """

    rank: int | None = None
    problem: str = ""
    functions: tuple[Called, ...] = ()


def to_json(runs: tuple[Observed, ...]) -> dict[str, Any]:
    """As plain data; `from_json` reads it back."""
    return {"version": VERSION, "runs": [asdict(run) for run in runs]}


def from_json(data: dict[str, Any]) -> tuple[Observed, ...]:
    """What `to_json` wrote.

    Raises:
        GuardUsageError: it is of another version.
        KeyError, TypeError, ValueError: it is nothing of the kind.
    """
    if data["version"] != VERSION:
        raise GuardUsageError(f"observations of version {data['version']}, and this reads version {VERSION}")
    return tuple(Observed(one["rank"], one["problem"], tuple(map(_called, one["functions"]))) for one in data["runs"])


def _called(data: dict[str, Any]) -> Called:
    return Called(**{**data, "entry": _seen(data["entry"]), "exit": _seen(data["exit"])})


def _seen(data: dict[str, dict[str, Any]]) -> dict[str, Seen]:
    return {path: Seen(*(tuple(one[name]) for name in ("kinds", "devices", "sizes"))) for path, one in data.items()}
