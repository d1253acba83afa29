"""PyTorch's own samples of its operators and modules, as calls by the names that people write."""

from __future__ import annotations

import functools
import importlib
import operator
import random
import sys
import types
import unittest
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

LEFT_OUT = ("jiterator", "_refs", "ops.")
"""Parts of names of samples that are for kernels compiled at run time, or call an operator by its internal name."""

SPARSE = "sparse."
"""Their samples are sparse tensors, for which operators have kernels that the table does not tell apart."""

DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64, torch.uint8)


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call an operator.

    Args:
        name: the qualified name that the catalogue is asked for.
        run: calls it.
        in_place: whether the first argument is written.
    """

    name: str
    run: Callable[..., object]
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments of one call, on the CPU."""

    arguments: tuple[object, ...]
    keywords: dict[str, object]


def chosen(names: Iterable[str], count: int, seed: int) -> list[str]:
    """A sample of names, the same in each run."""
    return random.Random(seed).sample(sorted(names), count)


@functools.cache
def operators() -> dict[str, list[Any]]:
    """PyTorch's descriptions of its operators, by name; variants of one operator share a name."""
    _satisfy_imports()
    database = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    found: dict[str, list[Any]] = {}
    for described in database:
        if not any(part in described.name for part in LEFT_OUT):
            found.setdefault(described.name, []).append(described)
    return found


@functools.cache
def modules() -> dict[str, Any]:
    """PyTorch's descriptions of its modules, by qualified name."""
    _satisfy_imports()
    database = importlib.import_module("torch.testing._internal.common_modules").module_db
    return {f"torch.nn.{described.module_cls.__name__}": described for described in database}


def _satisfy_imports() -> None:
    """Stands in for expecttest, which torch.testing imports and we have no use for."""
    if "expecttest" not in sys.modules:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in


def calls(name: str) -> Iterator[Call]:
    """The function, the aliases, the method, the in-place method and the operators of an operator."""
    described = operators()[name][0]
    names = [name, *(alias.name for alias in described.aliases)]
    for alias in [each.removeprefix("torch.") for each in names]:
        function = _function(alias)
        if function is not None:
            yield Call(f"torch.{alias}", function, in_place=alias.endswith("_"))
        elif alias.startswith("__"):
            yield Call(f"torch.Tensor.{alias}", getattr(torch.Tensor, alias))
        if described.method_variant is not None and hasattr(torch.Tensor, alias):
            yield Call(f"torch.Tensor.{alias}", getattr(torch.Tensor, alias), in_place=alias.endswith("_"))
        if described.inplace_variant is not None and hasattr(torch.Tensor, f"{alias}_"):
            yield Call(f"torch.Tensor.{alias}_", getattr(torch.Tensor, f"{alias}_"), in_place=True)
    for variant in (described.operator_variant, described.inplace_operator_variant):
        special = f"__{variant.__name__.rstrip('_')}__" if variant is not None else ""
        if variant is not None and hasattr(operator, variant.__name__) and hasattr(torch.Tensor, special):
            yield Call(f"torch.Tensor.{special}", variant, in_place=variant.__name__.startswith("i"))


def _function(name: str) -> Callable[..., object] | None:
    place: object = torch
    for part in name.split("."):
        place = getattr(place, part, None)
    return place if callable(place) else None


def samples(name: str, limit: int) -> Iterator[Sample]:
    """Samples of an operator, spread over the list that PyTorch has, since shapes vary along it."""
    for described in operators()[name] if not name.startswith(SPARSE) else ():
        supported = described.supported_dtypes("cpu")
        dtype = next((dtype for dtype in DTYPES if dtype in supported), None)
        if dtype is None:
            continue
        torch.manual_seed(0)
        listed = []
        for sample in described.sample_inputs("cpu", dtype, requires_grad=False):
            listed.append(sample)
            if len(listed) == 60:
                break
        for sample in listed[:: max(1, len(listed) // limit)][:limit]:
            yield Sample((sample.input, *sample.args), dict(sample.kwargs))
