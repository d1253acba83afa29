"""Runs something with and without a guard: the results must be the same bit for bit, and nothing may be found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from devlint_guard import guard
from torch import nn


def agree(run: Callable[[], Any], *modules: nn.Module, **options: Any) -> Any:
    """Runs something twice, the second time guarded in mode `raise`; returns the second result."""
    torch.manual_seed(0)
    expected = run()
    torch.manual_seed(0)
    with guard(*modules, **options) as active:
        found = run()
    assert active.findings == []
    assert same(found, expected), (found, expected)
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, their tensors bit for bit and on the same device."""
    if isinstance(one, torch.Tensor):
        return (
            isinstance(other, torch.Tensor)
            and (one.device, one.dtype, one.shape) == (other.device, other.dtype, other.shape)
            and (one.is_meta or torch.equal(one.nan_to_num(), other.nan_to_num()))
        )
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return same(vars(one), vars(other))
    return type(one) is type(other) and bool(one == other)
