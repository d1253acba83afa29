"""Moves of tensors and modules, batches, checkpoints and default devices, as they are while something records."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._device import DeviceContext
from torch.utils.data.dataloader import _BaseDataLoaderIter

from devlint_guard.program.replacements import Replacements
from devlint_guard.program.stored import registered_in, tensors_in, tensors_of
from devlint_guard.record import stacks
from devlint_guard.record.recorder import RECORD, doing
from devlint_guard.record.stacks import Event, Kind
from devlint_guard.record.storages import Place

METHODS = ("to", "cuda", "cpu", "xpu")


def install(replaced: Replacements) -> None:
    """Replaces what moves tensors and modules, gives batches, reads checkpoints, and sets default devices."""
    for name in METHODS:
        replaced.put(Tensor, name, _moving(getattr(Tensor, name)))
    for kind in (Tensor, nn.Parameter):
        replaced.around(kind, "__deepcopy__", _copy)
    replaced.around(nn.Module, "_apply", _apply)
    replaced.around(torch.cuda, "_lazy_init", _start)
    replaced.around(DeviceContext, "__init__", _choose)
    replaced.around(torch.autograd, "_make_grads", _make_quietly)
    replaced.around(_BaseDataLoaderIter, "__next__", functools.partial(_noting, Kind.BATCH, "DataLoader", "batch"))
    replaced.around(torch, "load", functools.partial(_noting, Kind.LOADED, "torch.load", "applying"))


def _moving(original: Callable[..., Any]) -> Callable[..., Any]:
    by, moved = f"Tensor.{original.__name__}", RECORD.moved
    is_explicit = original.__name__ != "to"

    @functools.wraps(original)
    def move(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if RECORD.is_on and isinstance(result, Tensor):
            if is_explicit or "device" in kwargs or (args and not isinstance(args[0], torch.dtype)):
                moved(self, result, by)
            elif result is not self:
                RECORD.computed(result, (self,))
        return result

    return move


def _copy(original: Callable[..., Any], self: Tensor, memo: Any) -> Any:
    is_known = id(self) in memo
    result = original(self, memo)
    if not is_known:
        RECORD.created(result, "copy.deepcopy", lambda: RECORD.of(self))
    return result


def _apply(original: Callable[..., Any], self: nn.Module, fn: Any, *args: Any, **kwargs: Any) -> Any:
    if not RECORD.is_listening or RECORD.thread.applying is not None:
        return original(self, fn, *args, **kwargs)
    before = {id(one): one.device for one in registered_in(self)}
    event = Event(Kind.MODULE, type(self).__name__, stacks.stack())
    with doing(RECORD.thread, applying=event):
        result = original(self, fn, *args, **kwargs)
    # `to_empty` and a move of what has no tensor yet are no moves of tensors.
    for one in registered_in(self):
        if before.get(id(one)) not in (None, one.device):
            event.before, event.after = before[id(one)], one.device
            RECORD.put_there(one, Place(None, event))
    if event.after is None:
        event.after = _target_of(fn)
    RECORD.applied(self, event)
    return result


def _target_of(function: Any) -> Any:
    """Where PyTorch's own function for `_apply` puts tensors; None where it puts them nowhere."""
    code = getattr(function, "__code__", None)
    if code is None or getattr(function, "__module__", "") != nn.Module.__module__:
        return None
    if "device" in code.co_freevars:
        told = function.__closure__[code.co_freevars.index("device")].cell_contents
        kind = next((name for name in ("cuda", "xpu") if name in code.co_names), None)
        if told is None and kind is None:
            return None
        is_number = kind is not None and (told is None or isinstance(told, int))
        return torch.device(kind or "", told or 0) if is_number else torch.device(told)
    return torch.device("cpu") if "cpu" in code.co_names else None


def _start(original: Callable[..., Any]) -> None:
    original()
    RECORD.apart()


def _make_quietly(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Makes helper tensors of each step, which are no tensors of the program's."""
    with doing(RECORD.thread, is_muted=True):
        return original(*args, **kwargs)


def _choose(original: Callable[..., Any], self: Any, device: Any) -> None:
    original(self, device)
    if RECORD.is_listening and threading.current_thread() is threading.main_thread():
        RECORD.default = Event(Kind.DEFAULT, "default device", stacks.stack(), after=self.device)
        if torch.device(device).type != "cpu":
            RECORD.apart(self.device)


# --- batches and checkpoints --------------------------------------------------------------------------------


def _noting(kind: Kind, by: str, mark: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Notes where all tensors of a result are from."""
    if not RECORD.is_listening or getattr(RECORD.thread, mark) is not None:
        return original(*args, **kwargs)
    event = Event(kind, by, stacks.stack())
    with doing(RECORD.thread, **{mark: event}):
        result = original(*args, **kwargs)
    tensors = [one for _, one in (*tensors_in(result), *tensors_of(result))]
    tensors += registered_in(result) if isinstance(result, nn.Module) else []
    place = Place(None, event)
    for one in tensors:
        if kind is Kind.LOADED:
            event.after = one.device
        RECORD.put_there(one, place)
    if any(one.device.type != "cpu" for one in tensors):
        RECORD.apart()
    return result
