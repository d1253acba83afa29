"""Batches and checkpoints, as they are given while something records: all of one belongs to the user's line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data.dataloader import _BaseDataLoaderIter

from devlint_guard.program.replacements import Replacements
from devlint_guard.program.stored import registered_in, tensors_in, tensors_of
from devlint_guard.record import stacks
from devlint_guard.record.events import Event, Kind
from devlint_guard.record.recorder import RECORD, doing
from devlint_guard.record.storages import Place


def install(replaced: Replacements) -> None:
    """Replaces what gives batches and reads checkpoints."""
    replaced.around(_BaseDataLoaderIter, "__next__", functools.partial(_noting, Kind.BATCH, "DataLoader", "batch"))
    replaced.around(torch, "load", functools.partial(_noting, Kind.LOADED, "torch.load", "applying"))


def _noting(kind: Kind, by: str, mark: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if not RECORD.is_listening or getattr(RECORD.thread, mark) is not None:
        return original(*args, **kwargs)
    event = Event(kind, by, stacks.stack())
    with doing(RECORD.thread, **{mark: event}):
        result = original(*args, **kwargs)
    _note(result, event)
    return result


def _note(value: Any, event: Event) -> None:
    """Notes where all tensors of a value are from."""
    tensors = [one for _, one in (*tensors_in(value), *tensors_of(value))]
    tensors += registered_in(value) if isinstance(value, nn.Module) else []
    place = Place(None, event)
    for one in tensors:
        if event.kind is Kind.LOADED:
            event.after = one.device
        RECORD.put_there(one, place)
    if any(one.device.type != "cpu" for one in tensors):
        RECORD.apart()
