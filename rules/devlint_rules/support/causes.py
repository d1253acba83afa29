"""Which conflicts have one cause: one change settles them, because they are about one value that lacks a move."""

from __future__ import annotations

import libcst as cst
from devlint.domain.device import CPU, is_symbolic
from devlint.facts import Conflict, ConflictKind, Meeting

from devlint_rules.support.moves.bindings import begin_of_value
from devlint_rules.support.moves.device_text import STAYING, root_of
from devlint_rules.support.site import Site

_AT_OPERATION = (ConflictKind.HOST, ConflictKind.CPU_ARGUMENT)
"""Conflicts that a copy for the operation settles, and for no other operation."""


def cause_of(conflict: Conflict, site: Site) -> str:
    """Return a name for the value on the CPU that a function needs on one other device.

    All operations of the function that need it there have the same cause. The name is empty for a conflict that has a
    cause of its own, or that other calls show too.
    """
    first, second = conflict.first, conflict.second
    left, there = (first, second) if first.device == CPU else (second, first)
    if conflict.kind in _AT_OPERATION or left.device != CPU or conflict.led:
        return ""
    value = _origin(left) if left.is_known_by_origin else _binding(left, site)
    goal = "" if is_symbolic(there.device) else str(there.device)
    return value and site.surroundings.qualified(f"{value} to {goal}", site.place)


def _origin(side: Meeting) -> str:
    return ", ".join(map(str, (step.place for step in side.trace)))


def _binding(side: Meeting, site: Site) -> str:
    """Return the expression that a value comes from unchanged, with the place from where on it is that; "" if unknown.

    It is `labels` of `labels.long()`, and `batch["label"]` of `batch["label"].long()`.
    """
    node = site.node(side)
    while node is not None:
        match node:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in STAYING:
                node = inner
            case cst.Attribute(value=inner, attr=cst.Name(value="data" | "T" | "mT")):
                node = inner
            case _:
                text = site.syntax.code(node)
                root = root_of(text)
                begin = begin_of_value(root, node, site.syntax, site.surroundings) if root.isidentifier() else None
                return "" if begin is None else f"{text} from {begin}"
    return ""
