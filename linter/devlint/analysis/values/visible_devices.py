"""CUDA_VISIBLE_DEVICES: how many devices the program lets CUDA see, and whether CUDA has looked already.

The variable is read once, when CUDA starts: by the first tensor or module that is put on a device, and by asking
whether there are devices. Counting them, choosing a seed and naming a device do not start it (torch 2.13).
"""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values.arguments import ArgumentValue
from devlint.domain.device import Concrete
from devlint.domain.environment import Environment
from devlint.domain.kinds import OriginKind, VisibilityProblem
from devlint.domain.process import UNKNOWN_NUMBER
from devlint.domain.provenance import Origin
from devlint.domain.value import Constant, Library, Value
from devlint.facts import Step, VisibilityConflict
from devlint.frontend.ir import Span

VARIABLE = "CUDA_VISIBLE_DEVICES"

VARIABLES = Library("os.environ")
"""The mapping of environment variables."""


def store(frame: Frame, env: Environment, key: Value, given: ArgumentValue | None, span: Span) -> None:
    """`os.environ[key] = value`, or with no value anything else that changes the variable."""
    if key != Constant(VARIABLE):
        return
    if env.process.started:
        if given is not None:
            text = frame.text(given.span)
            frame.record(
                span, VisibilityConflict(VisibilityProblem.LATE, text, None, None, _steps(frame, env.process.start))
            )
        return
    visible = UNKNOWN_NUMBER
    if given is not None and isinstance(given.value, Constant) and isinstance(given.value.value, str):
        visible = _count(given.value.value)
    origin = None if given is None else frame.origin(f"`{VARIABLE}` is set here", span, OriginKind.UNKNOWN)
    env.process = replace(env.process, visible=visible, limit=origin)


def _count(text: str) -> int:
    """How many devices a value lets CUDA see: those before the first that cannot be."""
    names: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if part.startswith("-"):
            break
        names.append(part)
    return len(names) if len(set(names)) == len(names) else UNKNOWN_NUMBER


def start(frame: Frame, env: Environment, span: Span, what: str) -> None:
    """CUDA starts here, unless it has before."""
    if not env.process.started:
        env.process = replace(env.process, started=True, start=frame.origin(what, span, OriginKind.UNKNOWN))


def is_hidden(frame: Frame, env: Environment, device: Concrete, span: Span) -> bool:
    """Whether a CUDA device is one of those that the program itself has hidden, which is recorded."""
    visible = env.process.visible
    if visible is None or visible == UNKNOWN_NUMBER or (device.index or 0) < visible:
        return False
    related = _steps(frame, env.process.limit)
    frame.record(span, VisibilityConflict(VisibilityProblem.BEYOND, frame.text(span), device, visible, related))
    return True


def _steps(frame: Frame, origin: Origin | None) -> tuple[Step, ...]:
    return () if origin is None else (Step(frame.program.place(origin.file, origin.span), origin.what),)
