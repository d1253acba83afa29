"""Moves whose result is thrown away."""

from __future__ import annotations

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.domain.device import UnknownDevice
from devlint.domain.environment import Environment
from devlint.domain.value import DeviceValue, Kind, Method, Opaque, Tensor, Value
from devlint.facts import DiscardedMove
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import MOVES


def receiver_span(span: Span, name: str) -> Span:
    """Return the span of `x` in `x.name`, when both stand on one line; the whole otherwise."""
    if span.line == span.end_line:
        return Span(span.line, span.column, span.line, max(span.column + 1, span.end_column - len(name) - 1))
    return span


def note(
    frame: Frame,
    env: Environment,
    function: ArgumentValue,
    arguments: Arguments,
    result: Value,
    span: Span,
    *,
    is_bound: bool = False,
) -> None:
    """Record a statement `x.to(device)` whose result is thrown away: it moves nothing if `x` is a tensor.

    `is_bound`: it is `x = x.to(device)`, and nobody reads `x` behind it.
    """
    method = function.value
    if not isinstance(method, Method) or method.name not in MOVES or env.fallback:
        return
    receiver = method.receiver
    if isinstance(receiver, Opaque):
        if frame.kind(receiver) is not Kind.TENSOR:
            return
        before, origin = receiver.device, receiver.origin
    elif isinstance(receiver, Tensor):
        before, origin = receiver.device, receiver.origin
    else:
        return
    if not isinstance(result, Tensor):
        return
    names_device = any(isinstance(given.value, DeviceValue) for given in arguments.all())
    unclear = isinstance(result.device, UnknownDevice) and names_device
    if result.device == before and not unclear:
        return
    trace = tuple(operands.step(frame, event) for event in (origin.steps() if origin else ()))
    name = frame.text(receiver_span(function.span, method.name))
    frame.record(span, DiscardedMove(name, method.name, result.device, trace, before, is_bound=is_bound))
