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
            shown = {name: as_text(value) for name, value in {**held, "return": result}.items()}
            values.append((frame.f_code.co_name, {name: text for name, text in shown.items() if text}))
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


def as_text(value: object, depth: int = 0) -> str:
    """Return a value as text, "" for one that no computation depends on: a device, a function."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (bool, int, float, complex, type(None))):
        return f"{value:.4g}" if isinstance(value, float) else repr(value)
    if depth > _DEEPEST:
        return ""
    if isinstance(value, torch.nn.Module):
        kept = (*_kept(vars(value)), *value.named_parameters(), *value.named_buffers())
        return _named(dict(kept), depth)
    if isinstance(value, Mapping):
        return _named(value, depth)
    if isinstance(value, (list, tuple, set)):
        return f"[{', '.join(filter(None, (as_text(part, depth + 1) for part in islice(value, _WIDEST))))}]"
    module = sys.modules.get(type(value).__module__)
    if module is not None and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return _named(dict(_kept(getattr(value, "__dict__", {}))), depth)
    return ""


def _kept(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The attributes that a class of the program gave its object."""
    for name, value in attributes.items():
        if not name.startswith("_") and not callable(value):
            yield name, value


def _named(values: Mapping[Any, Any], depth: int) -> str:
    parts = [(str(name), as_text(value, depth + 1)) for name, value in islice(values.items(), _WIDEST)]
    return "{" + ", ".join(f"{name}: {text}" for name, text in sorted(parts) if text) + "}"


def _tensor(tensor: torch.Tensor) -> str:
    """Size, kind and content of a tensor, rounded; what an allocation leaves undefined is not seen to be so."""
    try:
        numbers = tensor.detach().cpu().to(torch.float64).flatten()
    except (RuntimeError, TypeError, NotImplementedError):
        return f"{list(tensor.shape)} of {tensor.dtype}"
    ends = [f"{number:.4g}" for number in numbers[:6].tolist()]
    return f"{list(tensor.shape)} of {tensor.dtype}: {' '.join(ends)} sum {numbers.sum().item():.4g}"
