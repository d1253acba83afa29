"""Abstract values in the one notation that `reveal_device`, `devlint facts` and messages share."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values.modules import is_module, state
from devlint.analysis.values.operands import resolve
from devlint.domain.device import Device, UnknownDevice
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, ListObject
from devlint.domain.value import (
    UNKNOWN,
    Constant,
    DeviceValue,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    Value,
    is_host,
)
from devlint.frontend.ir import Span

MOST_SHOWN = 1_000
"""How many values are shown in one; a list that twice holds a list that twice holds … is longer than its objects."""

DEEPEST_SHOWN = 50
"""How many containers are shown inside each other."""


def reveal(frame: Frame, env: Environment, value: Value) -> str:
    """Return where a value lives: `cuda:0`, `[cpu, cuda:0]`, `unknown`; `not a tensor` for what lives nowhere.

    A container that holds itself is shown once, and `...` stands for what is too much to show.
    """
    return _Revealing(frame, env).text(value, frozenset())


class _Revealing:
    """One value as text."""

    def __init__(self, frame: Frame, env: Environment) -> None:
        self._frame = frame
        self._env = env
        self._left = MOST_SHOWN

    def text(self, value: Value, inside: frozenset[ObjectId]) -> str:
        """Return a value as text; `inside`: the containers that hold it."""
        self._left -= 1
        if self._left < 0:
            return "..."
        match value:
            case Tensor() | Opaque():
                return _device(resolve(self._env, value.device))
            case DeviceValue():
                return _device(value.device)
            case TupleValue(items=items):
                inner = self._listed(items, inside)
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            case Reference():
                hidden = value.object in inside or len(inside) >= DEEPEST_SHOWN
                return "..." if hidden else self._object(value, inside | {value.object})
            case _ if is_host(value):
                return "not a tensor"
            case _:
                return "unknown"

    def _listed(self, items: Iterable[Value], inside: frozenset[ObjectId]) -> str:
        texts = []
        for item in items:
            texts.append(self.text(item, inside))
            if self._left < 0:
                break
        return ", ".join(texts)

    def _object(self, value: Reference, inside: frozenset[ObjectId]) -> str:
        if is_module(self._frame, self._env, value):
            devices = sorted({_device(device) for device, _ in state(self._frame, self._env, value)})
            return " and ".join(devices) if devices else "no parameters"
        match self._env.heap.get(value.object):
            case ListObject(items=items) if items is not None:
                return f"[{self._listed(items, inside)}]"
            case ListObject(rest=rest):
                return f"[{self.text(rest, inside)}, ...]"
            case DictObject(items=pairs, rest=rest):
                shown = [f"{key!r}: {self.text(item, inside)}" for key, item in pairs]
                others = [] if rest is UNKNOWN else [f"...: {self.text(rest, inside)}"]
                return "{" + ", ".join([*shown, *others]) + "}"
            case Instance():
                return "not a tensor"
            case _:
                return "unknown"


def _device(device: Device) -> str:
    return "unknown" if isinstance(device, UnknownDevice) else str(device)


def note(frame: Frame, env: Environment, name: str, value: Value, span: Span) -> None:
    """Note what a name holds, for `devlint facts`."""
    if frame.recording and "@" not in name and interesting(value):
        frame.program.recorder.note(frame.file, span.line, name, reveal(frame, env, value))


def interesting(value: Value) -> bool:
    """Whether `devlint facts` lists a value: it lives on a device, or names one."""
    if isinstance(value, Constant):
        return value.origin is not None and isinstance(value.value, str)
    return isinstance(value, (Tensor, DeviceValue, Reference)) or (isinstance(value, Opaque) and value.path.is_made)
