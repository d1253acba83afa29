"""What the installed rules declare, kept so that a run need not load a rule that has nothing to look at."""

from __future__ import annotations

import sys
from pathlib import Path

import devlint
from devlint.cache import storage
from devlint.cache.codec import CodecError, decode, encode
from devlint.cache.location import state_of
from devlint.declarations import Declaration
from devlint.project import digest
from devlint.registry import DEFAULT_PACKAGES, load_rules, packages_of_rules


def declarations(folder: Path) -> tuple[Declaration, ...]:
    """Return what the installed rules declare: as kept in `folder`, or else from the rules, and kept there.

    Raises:
        RuleError: a rule package does not keep its contract.
    """
    packages = packages_of_rules()
    state = (devlint.__version__, sys.version, packages, [state_of(package) for package in ("devlint", *packages)])
    path = folder / f"rules-{digest(repr(state).encode())}.json"
    known = _decoded(storage.read(path), packages)
    if known is None:
        known = tuple(rule.declaration() for rule in load_rules(packages))
        storage.write(path, encode(known))
    return known


def remarks(folder: Path) -> list[str]:
    """Return a sentence for each rule of another package whose documentation is incomplete.

    Raises:
        RuleError: a rule package does not keep its contract.
    """
    if set(packages_of_rules()) <= set(DEFAULT_PACKAGES):
        return []
    return [f"rule {one.code} of {one.module}: {one.undocumented}" for one in declarations(folder) if one.undocumented]


def _decoded(document: object, packages: tuple[str, ...]) -> tuple[Declaration, ...] | None:
    """What a file holds, None if it is spoilt or names a module that is in no rule package."""
    try:
        found = decode(tuple[Declaration, ...], document)
    except CodecError:
        return None
    inside = all(f"{one.module}.".startswith(tuple(f"{package}." for package in packages)) for one in found)
    return found if inside else None
