"""What a function returns on its paths: on one of them from the CPU, on another from where its surroundings are."""

from __future__ import annotations

from devlint.analysis.execution.frame import Frame, is_computed
from devlint.analysis.findings.pytorch_messages import wording
from devlint.analysis.values import operands
from devlint.diagnostics import Certainty
from devlint.domain.device import CPU, is_symbolic
from devlint.domain.kinds import ConflictKind, OriginKind
from devlint.domain.summary import Operand
from devlint.domain.value import SOME_DIMENSIONS, Kind, Opaque, Tensor, TupleValue, Value
from devlint.facts import Conflict
from devlint.frontend.ir import Span


def note_strays(frame: Frame) -> None:
    """Notes the results that are created on the CPU, though nobody asked for that, where others follow something."""
    by_position: dict[int, list[tuple[Tensor, Span]]] = {}
    for value, span in frame.results:
        items = value.items if isinstance(value, TupleValue) else (value,)
        for position, item in enumerate(items):
            tensor = _as_tensor(frame, item)
            if tensor is not None:
                by_position.setdefault(position, []).append((tensor, span))
    for tensors in by_position.values():
        placed = next(filter(None, (_placed(frame, tensor, span) for tensor, span in tensors)), None)
        for tensor, _ in tensors if placed is not None else ():
            stray = tensor.stray if tensor.stray is not None and tensor.stray.may_meet else None
            made = tensor.origin if tensor.device == CPU else None if stray is None else stray.origin
            if (
                placed is not None
                and made is not None
                and made.kind is OriginKind.CREATED
                and made.is_unasked
                and made.file == frame.file
            ):
                created = Operand(frame.text(made.span), CPU, SOME_DIMENSIONS, made.span, made, file=frame.file)
                frame.record(made.span, _apart(frame, placed, created))


def _apart(frame: Frame, placed: Operand, created: Operand) -> Conflict:
    sides = (operands.meeting(frame, placed), operands.meeting(frame, created))
    return Conflict(ConflictKind.RESULT, "return", *sides, Certainty.POSSIBLE, wording("return", placed, created))


def _placed(frame: Frame, tensor: Tensor, span: Span) -> Operand | None:
    """A result as it is on a path on which it follows something, or is on an accelerator; None without such a path."""
    name = frame.text(span).removeprefix("return ")
    for device, origin in ((tensor.device, tensor.origin), (tensor.stray.beside if tensor.stray else CPU, None)):
        if is_symbolic(device) or operands.is_accelerator(device):
            return Operand(name, device, SOME_DIMENSIONS, span, origin, file=frame.file)
    return None


def _as_tensor(frame: Frame, value: Value) -> Tensor | None:
    """A result that is a tensor, or what a module has computed."""
    if isinstance(value, Opaque) and (frame.kind(value) is Kind.TENSOR or is_computed(value) or value.stray):
        return frame.tensor(value)
    return value if isinstance(value, Tensor) else None
