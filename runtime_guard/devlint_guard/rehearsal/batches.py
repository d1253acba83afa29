"""The option `--limit-batches`: each `DataLoader` gives only the first batches of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader

from devlint_guard.program.replacements import Replacements, around
from devlint_guard.rehearsal.machine import MACHINE


class _First:
    """The first indices of a sampler; its workers load nothing behind them."""

    def __init__(self, sampler: Any, most: int) -> None:
        self._sampler = sampler
        self._most = most

    def __iter__(self) -> Iterator[Any]:
        return islice(self._sampler, self._most)

    def __len__(self) -> int:
        return min(len(self._sampler), self._most)


def install(replaced: Replacements) -> None:
    """Replace what each loader takes its indices from, and its length."""
    owner: Any = DataLoader
    replaced.put(owner, "_index_sampler", property(around(owner._index_sampler.fget, _indices)))
    replaced.around(owner, "__len__", _length)


def _indices(whole: Callable[..., Any], self: DataLoader[Any]) -> Any:
    return whole(self) if MACHINE.batches is None else _First(whole(self), MACHINE.batches)


def _length(whole: Callable[..., int], self: DataLoader[Any]) -> int:
    return whole(self) if MACHINE.batches is None else min(whole(self), MACHINE.batches)
