"""Where the host waits for a device, or fails to: reads of tensors, and copies that take their time.

Reading a tensor's numbers on the host (`item`, `print`, a test) waits until the device has computed them. A copy
to the CPU that does not block is complete only when something has waited for the device.
"""

from __future__ import annotations

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values.arguments import Arguments, ArgumentValue, constant
from devlint.domain.device import CPU, META, Concrete, Variable
from devlint.domain.environment import Environment
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.value import Kind, Method, Opaque, Tensor, Value
from devlint.facts import CreateThenMove, LoopInvariantTransfer, ReadBeforeSync, Step, SyncInLoop
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import MOVES

READERS = frozenset({"item", "tolist", "numpy"})
WAITS = frozenset({"synchronize", "wait", "wait_stream", "wait_event"})
READING_FUNCTIONS = frozenset({"builtins.print", "builtins.float", "builtins.int", "builtins.bool", "builtins.str"})


def tensor(frame: Frame, value: Value) -> Tensor | None:
    """The value as a tensor, if it is one."""
    if isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR:
        return frame.tensor(value)
    return value if isinstance(value, Tensor) else None


def read(frame: Frame, env: Environment, value: Value, span: Span, how: str) -> None:
    """The host reads what may be a tensor; `how` in words, with a place for its name."""
    found = tensor(frame, value)
    if found is None:
        return
    origin = found.origin
    if found.device == CPU and origin is not None and (origin.file, origin.span) in env.arriving:
        place = frame.program.place(origin.file, origin.span)
        step = Step(place, "copied to the CPU by a call that does not wait for the copy")
        frame.record(span, ReadBeforeSync(frame.text(span), how, (step,)))
        env.arriving = frozenset()
    elif is_on_device(found):
        _wait(frame, env, found, span, how)


def is_on_device(found: Tensor) -> bool:
    """Whether a tensor is on an accelerator, or where a parameter or setting says."""
    device = found.device
    return isinstance(device, Variable) or (isinstance(device, Concrete) and device not in (CPU, META))


def _wait(frame: Frame, env: Environment, found: Tensor, span: Span, how: str) -> None:
    env.arriving = frozenset()
    loop = frame.loops[-1] if frame.loops else None
    if loop is not None and loop.plan.trains and frame.branching == loop.branching and not env.fallback:
        frame.record(span, SyncInLoop(frame.text(span), how, found.device))


def note_method(
    frame: Frame, env: Environment, receiver: ArgumentValue, name: str, arguments: Arguments, span: Span
) -> None:
    """A method is called on what may be a tensor."""
    if name in WAITS:
        env.arriving = frozenset()
    elif name in READERS:
        read(frame, env, receiver.value, span, "")
    elif name == "cpu" or (name == "to" and _goes_to_cpu(arguments) and not is_async(arguments)):
        found = tensor(frame, receiver.value)
        if found is not None and is_on_device(found):
            _wait(frame, env, found, span, "")


def _goes_to_cpu(arguments: Arguments) -> bool:
    return constant(arguments.keyword("device") or arguments.first()) == "cpu"


def is_async(arguments: Arguments) -> bool:
    """Whether a move does not block."""
    return constant(arguments.keyword("non_blocking")) is True


def note_move(
    frame: Frame,
    env: Environment,
    function: ArgumentValue,
    method: Method,
    arguments: Arguments,
    result: Value,
    span: Span,
) -> None:
    """A tensor has been moved by a call of `function`, which is `method`; its result is `result`."""
    name, before = method.name, method.receiver
    found, after = tensor(frame, before), tensor(frame, result)
    if name not in MOVES or found is None or after is None or found.device == after.device or env.fallback:
        return
    origin = after.origin
    if after.device == CPU and is_on_device(found) and is_async(arguments) and origin is not None:
        env.arriving = env.arriving | {(origin.file, origin.span)}
    if is_on_device(after):
        _note_creation(frame, function, found, after, name, span)
        _note_repetition(frame, function, found, after, name, span)


def _note_creation(frame: Frame, function: ArgumentValue, before: Tensor, after: Tensor, name: str, span: Span) -> None:
    origin, attribute = before.origin, function.span
    if origin is None or origin.kind is not OriginKind.CREATED or origin.because is not None or before.device != CPU:
        return
    ends = (attribute.end_line, attribute.end_column - len(name) - 1)
    whole = origin.span
    if origin.file != frame.file or whole[:2] != span[:2] or (whole.end_line, whole.end_column) != ends:
        return
    factory = frame.text(whole).partition("(")[0]
    if frame.program.takes_device(frame.program.qualified(frame.globals, factory)):
        frame.record(span, CreateThenMove(frame.text(whole), name, after.device))


def _note_repetition(
    frame: Frame, function: ArgumentValue, before: Tensor, after: Tensor, name: str, span: Span
) -> None:
    loop = frame.loops[-1] if frame.loops else None
    if loop is None or frame.branching != loop.branching or before.role is not TensorRole.PLAIN:
        return
    if span in loop.plan.invariant:
        text = frame.text(function.span).removesuffix(f".{name}")
        frame.record(span, LoopInvariantTransfer(text, after.device))
