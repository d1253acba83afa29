"""Runs a call in a rehearsal with its tensors on a device, one of them elsewhere, and tells the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from devlint_guard.rehearsal.unjudged import UNJUDGED

from tests.judge.kinds import kind_of

Place = tuple[object, ...]
"""The way from the arguments to one tensor: positions and keys."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened: `ok` or `not-judged` with a result, `device-error`, or `other-error`."""

    kind: str
    result: object = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which tensor is moved where: `cpu`, `cuda:1`, or `scalar` (its first element, 0-dim, on the CPU)."""

    moved: Place | None
    to: str

    def __str__(self) -> str:
        if self.moved is None:
            return "all together"
        return f"{'/'.join(map(str, self.moved))} on {self.to}"


def placements(arguments: object) -> Iterator[Placement]:
    """All together on one device, then every tensor in turn elsewhere.

    Tensors without elements stay together: some kernels return before they look at devices.
    """
    yield Placement(None, "cuda:0")
    found = list(tensors(arguments))
    if len(found) < 2 or any(tensor.numel() == 0 for _, tensor in found):
        return
    for place, tensor in found:
        for to in ("cpu", "cuda:1", "scalar"):
            if to != "scalar" or (tensor.dim() > 0 and tensor.numel() > 0):
                yield Placement(place, to)


def tensors(value: object, place: Place = ()) -> Iterator[tuple[Place, torch.Tensor]]:
    """The tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield place, value
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from tensors(item, (*place, position))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors(item, (*place, key))


def put(arguments: Any, placement: Placement) -> Any:
    """A copy of the arguments in which the tensors are where the placement says."""

    def move(place: Place, tensor: torch.Tensor) -> torch.Tensor:
        if place != placement.moved:
            return _copy(tensor, "cuda:0")
        if placement.to == "scalar":
            return tensor.detach().flatten()[0].clone()
        return _copy(tensor, placement.to)

    return rebuild(arguments, move)


def rebuild(value: Any, change: Callable[[Place, torch.Tensor], torch.Tensor], place: Place = ()) -> Any:
    """A copy of nested arguments with every tensor changed, and devices named in them too."""
    if isinstance(value, torch.Tensor):
        return change(place, value)
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(item, change, (*place, i)) for i, item in enumerate(value)))
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(item, change, (*place, i)) for i, item in enumerate(value))
    if isinstance(value, dict):
        return {key: rebuild(item, change, (*place, key)) for key, item in value.items()}
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return "cuda:0"
    return value


def _copy(tensor: torch.Tensor, device: str) -> torch.Tensor:
    return tensor.detach().clone().to(device)


def attempt(run: Callable[..., object], *arguments: object, **keywords: object) -> Outcome:
    """Calls and tells what came of it."""
    torch.manual_seed(1)
    UNJUDGED.places.clear()
    try:
        result = run(*arguments, **keywords)
        return Outcome("not-judged" if UNJUDGED.places else "ok", result)
    except Exception as error:
        kind = type(error)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        device = kind_of(name, str(error)) is not None
        return Outcome("device-error" if device else "other-error", None, str(error).split("\n")[0][:160])
