"""The values that a program computes, as text without devices: to compare a program with a changed one."""

from __future__ import annotations

import os
import random
import sys
import types
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch

MOST = 5_000
"""Records of a program; later returns are not recorded."""

_DEEPEST = 4
_WIDEST = 40
_MOST_PARTS = 400


def record(folder: str, values: list[tuple[str, dict[str, str]]]) -> None:
    """Record each function of a file in the folder when it returns: its name, and its variables as text.

    Random numbers and memory that nothing has initialised are the same in each run. The server seeds PyTorch.
    """
    prefix = os.path.join(folder, "")
    random.seed(0)
    np.random.seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)

    def on_event(frame: types.FrameType, event: str, result: object) -> None:
        if event != "return" or len(values) >= MOST or not frame.f_code.co_filename.startswith(prefix):
            return
        sys.setprofile(None)
        try:
            held = {name: value for name, value in frame.f_locals.items() if not name.startswith("__")}
            parts = (part for name, value in {**held, "return": result}.items() for part in parts_of(name, value))
            values.append((frame.f_code.co_name, dict(islice(parts, _MOST_PARTS))))
        finally:
            sys.setprofile(on_event)

    sys.setprofile(on_event)


def frames_in(folder: str, traceback: types.TracebackType | None) -> int:
    """Count the functions of files in the folder that an exception has left; they did not return."""
    count = 0
    while traceback is not None:
        count += traceback.tb_frame.f_code.co_filename.startswith(os.path.join(folder, ""))
        traceback = traceback.tb_next
    return count


def parts_of(path: str, value: object, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the tensors and numbers that a value holds, each by its path, as text; devices and functions are none."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        yield path, _tensor(value)
    elif isinstance(value, (bool, int, float, complex, type(None))):
        yield path, f"{value:.4g}" if isinstance(value, float) else repr(value)
    elif depth < _DEEPEST:
        for name, part in islice(_inside(value), _WIDEST):
            yield from parts_of(f"{path}.{name}", part, depth + 1)


def _inside(value: object) -> Iterator[tuple[str, object]]:
    """The parts of a value by name: the members of a module, the elements of a container, attributes of an object."""
    if isinstance(value, torch.nn.Module):
        own = (*value.named_parameters(recurse=False), *value.named_buffers(recurse=False))
        yield from (*_kept(vars(value)), *own, *value.named_children())
    elif isinstance(value, Mapping):
        yield from ((str(name), part) for name, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(number), part) for number, part in enumerate(value))
    elif not isinstance(value, (type, types.ModuleType, types.FunctionType)):
        yield from _kept(getattr(value, "__dict__", {}))


def _kept(attributes: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The attributes of an object with names that are not private."""
    for name, value in attributes.items():
        if not name.startswith("_") and (not callable(value) or isinstance(value, torch.nn.Module)):
            yield name, value


def _tensor(tensor: torch.Tensor) -> str:
    """Return the size, the kind and the content of a tensor, rounded."""
    try:
        numbers = tensor.detach().cpu().to(torch.float64).flatten()
    except (RuntimeError, TypeError, NotImplementedError):
        return f"{list(tensor.shape)} of {tensor.dtype}"
    ends = [f"{number:.4g}" for number in numbers[:6].tolist()]
    return f"{list(tensor.shape)} of {tensor.dtype}: {' '.join(ends)} sum {numbers.sum().item():.4g}"
