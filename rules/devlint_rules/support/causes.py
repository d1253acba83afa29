"""Which conflicts have one cause: one change settles them, because they are about one value that lacks a move."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Cause, Certainty
from devlint.domain.device import CPU, is_symbolic
from devlint.facts import Conflict, ConflictKind, Meeting, OriginKind

from devlint_rules.support.moves.bindings import begin_of_value
from devlint_rules.support.moves.device_text import STAYING, is_addressable, root_of
from devlint_rules.support.site import Site

_OF_TWO_VALUES = (
    ConflictKind.OPERANDS,
    ConflictKind.MODULE_INPUT,
    ConflictKind.CPU_MEETS_SYMBOLIC,
    ConflictKind.CRITERION_STATE,
    ConflictKind.INDEX,
    ConflictKind.GENERATOR,
)
"""Conflicts that a move of one value settles; a copy for an operation that needs the CPU settles no other operation."""

_BY_ORIGIN = (OriginKind.CREATED, OriginKind.MOVED, OriginKind.ATTRIBUTE)
"""How a value comes to be that its trace tells from others; a batch of a loader, for one, has several tensors."""


def cause_of(conflict: Conflict, site: Site) -> Cause | None:
    """Return the cause of a conflict: values on the CPU that are needed on one other device.

    All operations that need them there have the same cause: those in the same file if the origin of the values tells
    them from all others, else those in the same function. None for a conflict that has a cause of its own, or that
    is merely possible.
    """
    first, second = conflict.first, conflict.second
    left, there = (first, second) if first.device == CPU else (second, first)
    raises = conflict.kind in _OF_TWO_VALUES and conflict.certainty is not Certainty.POSSIBLE
    if not raises or left.device != CPU:
        return None
    values = [_value(side, site) for side in (left, *conflict.others)]
    device = "" if is_symbolic(there.device) else str(there.device)
    return Cause(" and ".join(values), device) if all(values) else None


def _value(side: Meeting, site: Site) -> str:
    """Return a name for a value; "" if no name tells it from others."""
    if side.kind in _BY_ORIGIN:
        return ", ".join(str(step.place) for step in side.trace)
    node = site.node(side)
    return "" if node is None else _binding(node, site)


def _binding(node: cst.BaseExpression, site: Site) -> str:
    """Return the expression that a value comes from unchanged, and where it is that value; "" if no name stands for it.

    It is `labels` of `labels.long()`, and `batch["label"]` of `batch["label"].long()`.
    """
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in STAYING:
            return _binding(inner, site)
        case cst.Attribute(value=inner, attr=cst.Name(value="data" | "T" | "mT")):
            return _binding(inner, site)
    text, around = site.syntax.code(node), site.surroundings
    root = root_of(text)
    if not is_addressable(text) or (around.is_global(root) and not around.binds(root, site.place)):
        return text if is_addressable(text) else ""
    if root == "self":
        return around.qualified(text, site.place)
    begin = begin_of_value(root, node, site.syntax, around)
    return around.qualified(f"{text} from {begin}", site.place)
