"""Tensors of one operator that do not go together, and the finding that says so."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FrameType

from devlint_guard.explain.messages import Message, Trouble
from devlint_guard.explain.operands import Scene, matched
from devlint_guard.finding import Finding
from devlint_guard.findings.mismatch import finding_on
from devlint_guard.program.expressions import Operation, Term
from devlint_guard.program.frames import sites_above, user_frame
from devlint_guard.program.naming import Roots
from devlint_guard.watch.entry import Value
from devlint_guard.watch.regimes import Regime


def apart(regime: Regime, values: Sequence[Value]) -> tuple[Value, Value] | None:
    """The first two of an operator's tensors that break its rule; None where PyTorch lets all of them meet.

    The first of them is not where it has to be, the second says where that is.
    """
    first = next(iter(values), None)
    if first is not None and regime is Regime.ELEMENTWISE:
        first = next((value for value in values if value.tensor.device.type != "cpu"), first)
    for value in values:
        if first is None or value.tensor.device == first.tensor.device:
            continue
        is_on_cpu = value.tensor.device.type == "cpu"
        if regime is Regime.ELEMENTWISE and is_on_cpu and value.tensor.dim() == 0 and not value.is_written:
            continue
        if regime is not Regime.INDEX or not is_on_cpu:
            return value, first
    return None


def finding_of(
    regime: Regime, operator: str, pair: tuple[Value, Value], frame: FrameType, thread: int, roots: Roots
) -> Finding:
    """What such a pair means in the user's program, where a frame called the operator; `thread` as for `user_frame`."""
    start = frame if user_frame(frame) is not None else user_frame(None, thread)
    scene = Scene.of(sites_above(start or frame), roots)
    # The tensor that is selected from comes before its indices.
    ordered = pair[::-1] if regime is Regime.INDEX else pair
    terms = tuple(Term(one.name, ast.Name(one.name), str(one.tensor.device), one.tensor) for one in ordered)
    met = matched(scene, Operation(operator, terms[0].node, terms, ()), scene.operation.terms)
    devices = tuple(term.device for term in terms)
    trouble = Trouble.INDEX if regime is Regime.INDEX else Trouble.APART
    return scene.placed(finding_on(scene, met, Message(trouble, devices)))
