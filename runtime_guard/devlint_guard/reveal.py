"""`reveal_device`: says where a value really is, at the line where devlint says where it must be.

The text is written in the notation that devlint uses in messages and in `# revealed:` comments:

    tensor, parameter           cpu, cuda:0, meta
    module                      the device of its parameters and buffers, `cpu and cuda:0` when they differ,
                                `no parameters` when there are none
    list, tuple, dict           [cpu, cuda:0], (cpu, cpu), {'x': cpu}
    torch.device                cuda:0, cuda
    anything else               not a tensor
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch

from devlint_guard.program.quoting import printable
from devlint_guard.program.stored import registered_in

T = TypeVar("T")

Observer = Callable[[str, str, int], None]
"""Is told the device text, the file and the line of each `reveal_device` that is executed."""

observers: list[Observer] = []
"""When one is installed here, `reveal_device` tells it and prints nothing."""


def reveal_device(value: T) -> T:
    """Returns `value` itself, after printing `file:line: device` to stderr or telling the observers."""
    caller = sys._getframe(1)
    text = device_text(value)
    if not observers:
        print(printable(f"{caller.f_code.co_filename}:{caller.f_lineno}: {text}"), file=sys.stderr)
    for observer in observers:
        observer(text, caller.f_code.co_filename, caller.f_lineno)
    return value


def device_text(value: object, enclosing: frozenset[int] = frozenset()) -> str:
    """Where `value` is, in the notation of this file's first lines.

    Args:
        value: anything.
        enclosing: the containers being written, by identity; one that holds itself is written `...`.
    """
    if isinstance(value, torch.Tensor):
        return str(value.device)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.nn.Module):
        devices = {str(tensor.device) for tensor in registered_in(value)}
        return " and ".join(sorted(devices)) or "no parameters"
    if not isinstance(value, (list, tuple, Mapping)):
        return "not a tensor"
    if id(value) in enclosing:
        return "..."
    inside = enclosing | {id(value)}
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k!r}: {device_text(v, inside)}" for k, v in value.items()) + "}"
    elements = [device_text(element, inside) for element in value]
    if isinstance(value, list):
        return f"[{', '.join(elements)}]"
    return f"({elements[0]},)" if len(elements) == 1 else f"({', '.join(elements)})"
