"""What a function returns on its paths: on one of them from the CPU, on another from where its surroundings are."""

from __future__ import annotations

from devlint.analysis.execution.frame import Frame, is_computed
from devlint.analysis.findings.pytorch_messages import LATER, wording
from devlint.analysis.values import operands
from devlint.diagnostics import Certainty
from devlint.domain.device import CPU, Device, in_words, is_symbolic
from devlint.domain.kinds import ConflictKind, OriginKind
from devlint.domain.summary import Operand
from devlint.domain.value import SOME_DIMENSIONS, Kind, Opaque, Tensor, TupleValue, Value
from devlint.facts import Conflict
from devlint.frontend.ir import Span

_RETURN = "return "
"""How the span of a result begins that a `return` gives."""


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
    said = f"{wording('return', placed, created)}{LATER}"
    return Conflict(ConflictKind.RESULT, "return", *sides, Certainty.POSSIBLE, said)


def _placed(frame: Frame, tensor: Tensor, span: Span) -> Operand | None:
    """A result as it is on a path on which it follows something, or is on an accelerator; None without such a path."""
    name = frame.text(span)
    if name.startswith(_RETURN):
        name, span = name.removeprefix(_RETURN), span._replace(column=span.column + len(_RETURN))
    if _is_apart(tensor.device):
        return Operand(name, tensor.device, SOME_DIMENSIONS, span, tensor.origin, file=frame.file)
    device = CPU if tensor.stray is None else tensor.stray.beside
    if not _is_apart(device):
        return None
    origin = frame.origin(f"on another path, the result is on {in_words(device)}", span, OriginKind.UNKNOWN)
    return Operand(name, device, SOME_DIMENSIONS, span, origin, file=frame.file)


def _is_apart(device: Device) -> bool:
    """Whether a device follows something, or is an accelerator."""
    return is_symbolic(device) or operands.is_accelerator(device)


def _as_tensor(frame: Frame, value: Value) -> Tensor | None:
    """A result that is a tensor, or what a module has computed."""
    if isinstance(value, Opaque) and (frame.kind(value) is Kind.TENSOR or is_computed(value) or value.stray):
        return frame.tensor(value)
    return value if isinstance(value, Tensor) else None
