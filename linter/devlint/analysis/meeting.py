"""Where paths meet: a name that held different things on them holds, from there on, one thing of its own.

The domain's join says only what is true of both sides, which of two device variables is nothing. A body can say
more: whatever `h` is behind the `if`, it is the same thing in all that follows, so its device is a device variable,
named after the name and the place. Two uses of it agree, and it follows its surroundings if both sides did.
"""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.analysis.frame import Frame
from devlint.domain import environment
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, Either, Variable
from devlint.domain.environment import Environment
from devlint.domain.provenance import Stray
from devlint.domain.value import UNKNOWN, DeviceValue, Kind, Opaque, Optional, Tensor, Value, join, optional, present
from devlint.frontend.ir import Span


def merge(frame: Frame, left: Environment | None, right: Environment | None, span: Span) -> Environment | None:
    """The join of two environments at a place of the body."""
    merged = environment.join(left, right)
    if merged is None or left is None or right is None or left.fallback != right.fallback:
        return merged
    for name, value in merged.names.items():
        ours, theirs = left.names.get(name), right.names.get(name)
        if ours is not None and theirs is not None and ours is not theirs and value != ours:
            merged.names[name] = _identified(frame, value, ours, theirs, name, span)
    return merged


def either(frame: Frame, left: Value, right: Value, span: Span, name: str = "value") -> Value:
    """The value of an expression that is one or the other; `name` tells people what it is."""
    return _identified(frame, join(left, right), left, right, name, span)


def _identified(frame: Frame, joined: Value, left: Value, right: Value, name: str, span: Span) -> Value:
    """What two sides left, as a thing of its own where the join has lost what it is."""
    if isinstance(joined, Optional) or isinstance(left, Optional) or isinstance(right, Optional):
        ours, theirs = present(left), present(right)
        if ours is None or theirs is None:
            return joined
        return optional(_identified(frame, join(ours, theirs), ours, theirs, name, span))
    one, other = _as_tensor(frame, left), _as_tensor(frame, right)
    if one is not None and other is not None:
        both = join(one, other)
        assert isinstance(both, Tensor)
        if isinstance(both.device, Either):
            return replace(both, device=_variable(frame, name, span))
        if both.device != UNKNOWN_DEVICE or _DEVICE_WORD.search(frame.text(span)):
            return both
        return replace(both, stray=_stray(one, other, _subject(frame, span)))
    if joined == UNKNOWN and UNKNOWN not in (left, right):
        return frame.nameless(name, span)
    if isinstance(joined, DeviceValue) and joined.device == UNKNOWN_DEVICE:
        assert isinstance(left, DeviceValue)
        assert isinstance(right, DeviceValue)
        if CPU not in (left.device, right.device):
            return replace(joined, device=_variable(frame, name, span))
    return joined


_DEVICE_WORD = re.compile(r"cpu|cuda|gpu|mps|xpu|npu|device|offload|available|onnx|trac|script", re.IGNORECASE)
"""A test with such a word may know what is on which device: what its sides create is no stray."""


def _stray(one: Tensor, other: Tensor, subject: str) -> Stray | None:
    """How one of two tensors was created on the CPU, if the other is somewhere else."""
    for tensor in (one, other):
        if tensor.stray is not None:
            return tensor.stray
        if tensor.device == CPU and tensor.origin is not None and tensor.origin.born in ("created", "host"):
            return None if tensor.origin.checked else Stray(tensor.origin, subject)
    return None


def _subject(frame: Frame, span: Span) -> str:
    """What a test is about: `mask` for `mask is None` and `not mask`."""
    return _OF_A_TEST.sub("", frame.text(span))


_OF_A_TEST = re.compile(r"\b(is|not|None|and|or)\b|[\s()]")


def test_again(frame: Frame, env: Environment, span: Span) -> None:
    """Forgets what one path has created where a test of the same subject may exclude that path."""
    subject = _subject(frame, span)
    for name, value in env.names.items():
        if isinstance(value, Tensor) and value.stray is not None and value.stray.subject == subject:
            env.names[name] = replace(value, stray=None)


def _as_tensor(frame: Frame, value: Value) -> Tensor | None:
    if isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR:
        return Tensor(value.device, None, origin=value.origin)
    return value if isinstance(value, Tensor) else None


def _variable(frame: Frame, name: str, span: Span) -> Device:
    return Variable(frame.nameless(name, span).path)
