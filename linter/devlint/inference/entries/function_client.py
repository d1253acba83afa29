"""The client of a function: calls it with tensors on the accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.inference.entries.inputs import inputs, is_proven
from devlint.inference.state.frame import Frame
from devlint.inference.values.code import Body
from devlint.inference.values.data import DISCARDED, OF_FUNCTION, Finding
from devlint.inference.values.objects import function


def is_public(body: Body) -> bool:
    """Whether somebody else may call a function: it is no method, and is defined at the top level of its file."""
    called = body.function
    if called is None or body.owner is not None or body.around or not called.parameters or called.is_stub:
        return False
    return "." not in called.name and not called.is_private


def findings(frame: Frame, body: Body) -> Iterator[Finding]:
    """Yield the findings of a client that calls a function with inputs on an accelerator.

    Args:
        frame: the frame of an entry.
        body: a function for which `is_public` holds.
    """
    frame.span = body.scope.span
    frame.engine.call(frame, function(body), inputs(frame, body, 0), frame.span)
    for each in frame.findings:
        if each.requirement.kind != DISCARDED:
            yield each._replace(entry=OF_FUNCTION, is_wanted=is_proven(frame, each))
