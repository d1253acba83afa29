"""PyTorch's own samples of its modules, each with something on another device: what the guard says, what PyTorch does.

Run as a program on pretended CUDA devices, it writes to the file that it is given: false alarms, misses, agreements.
"""

from __future__ import annotations

import copy
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from devlint_guard import guard

from tests.torchlib.samples import modules

SAMPLES = 1
"""Of each module, in training and out of it; with three the outcome is the same."""


def moved(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(one, device) for one in value)
    return value


def variants(args: list[Any], kwargs: dict[str, Any]) -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """Where the module is to be, and its arguments: all elsewhere than the module, then each alone."""
    yield "all", "cuda", args, kwargs
    yield "module", "cpu", moved(args, "cuda"), {key: moved(value, "cuda") for key, value in kwargs.items()}
    for key in [*range(len(args)), *kwargs]:
        there = [one if index == key else moved(one, "cuda") for index, one in enumerate(args)]
        named = {name: one if name == key else moved(one, "cuda") for name, one in kwargs.items()}
        yield str(key), "cuda", there, named


def sweep(every: int) -> dict[str, list[str]]:
    """Return the calls of one module in so many, by what became of them."""
    said: dict[str, list[str]] = {"false alarm": [], "missed": [], "named": [], "right": []}
    for info, training in itertools.product([*modules().values()][::every], (True, False)):
        samples = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for sample in itertools.islice(samples, SAMPLES):
            if sample.forward_input is None:
                continue
            made, given = sample.constructor_input, sample.forward_input
            try:
                module = info.module_cls(*made.args, **made.kwargs).train(training)
                copy.deepcopy(module)(*copy.deepcopy(given.args), **copy.deepcopy(given.kwargs))
            except Exception:  # not with these arguments on this build
                continue
            for label, device, args, kwargs in variants(list(given.args), given.kwargs):
                said[_verdict(copy.deepcopy(module).to(device), args, kwargs)].append(f"{info.name}: {label}")
    return said


def _verdict(module: torch.nn.Module, args: list[Any], kwargs: dict[str, Any]) -> str:
    raised = False
    with guard(mode="record", level="module") as active:
        try:
            module(*args, **kwargs)
        except (RuntimeError, TypeError):
            raised = True
    if active.findings:
        return "named" if raised else "false alarm"
    return "missed" if raised else "right"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    Path(sys.argv[1]).write_text(json.dumps(sweep(int(sys.argv[2]))))
