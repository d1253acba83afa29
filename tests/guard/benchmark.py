"""What the guard costs: `python -m tests.guard.benchmark [--quick] [WORKLOAD…]`.

A variant is timed between two runs without a guard, in one process, and its ratio is to the mean of the two; what is
printed is the median over many such pairs, with quartiles. `none` between two runs of itself shows how far to trust
them. Times are of the processor, since other work may run beside. Each workload has a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from devlint_guard.ledger import Ledger
from devlint_guard.operators import OperatorMode
from devlint_guard.provenance import Provenance
from torch import Tensor, nn

Variant = Callable[[nn.Module], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A training step to time.

    Attributes:
        build: makes the module and its input.
        classes: the number of classes of its output.
        rounds, steps: how many pairs, and how many steps in each run.
    """

    build: Callable[[], tuple[nn.Module, Tensor]]
    classes: int
    rounds: int
    steps: int


class Block(nn.Module):
    """A residual block with two convolutions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.last = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(x + self.body(x))
        return result


class Pooled(nn.Module):
    """Averages what an encoder returns, and classifies it."""

    def __init__(self, encoder: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.head(self.encoder(x).flatten(2).mean(-1) if x.dim() == 4 else self.encoder(x).mean(1))
        return result


def _mlp() -> tuple[nn.Module, Tensor]:
    layers: list[nn.Module] = [nn.Linear(32, 64), nn.ReLU()]
    for _ in range(3):
        layers += [nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(64, 10)), torch.randn(16, 32)


def _transformer() -> tuple[nn.Module, Tensor]:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return Pooled(nn.TransformerEncoder(layer, 4), 64, 10), torch.randn(8, 32, 64)


def _resnet() -> tuple[nn.Module, Tensor]:
    stem: list[nn.Module] = [nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    return Pooled(nn.Sequential(*stem, *(Block(32) for _ in range(6))), 32, 10), torch.randn(8, 3, 16, 16)


WORKLOADS = {
    "mlp": Workload(_mlp, 10, 60, 20),
    "transformer": Workload(_transformer, 10, 30, 3),
    "resnet": Workload(_resnet, 10, 20, 2),
}


@contextlib.contextmanager
def _everything() -> Iterator[None]:
    with Provenance() as provenance, OperatorMode(_ignore, watchers=(Ledger(), provenance)):
        yield


VARIANTS: dict[str, Variant] = {
    "none (again)": lambda module: contextlib.nullcontext(),
    "provenance": lambda module: Provenance(),
    "operators": lambda module: OperatorMode(_ignore),
    "operators + ledger": lambda module: OperatorMode(_ignore, watchers=(Ledger(),)),
    "operators + ledger + provenance": lambda module: _everything(),
}


def _ignore(finding: object) -> None:
    raise AssertionError(f"a finding in a program without a fault: {finding}")


def training_step(workload: Workload) -> tuple[nn.Module, Callable[[], None]]:
    """A module, and a function that trains it by one step."""
    torch.manual_seed(0)
    module, batch = workload.build()
    target = torch.randint(workload.classes, (len(batch),))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(module.parameters(), foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        criterion(module(batch), target).backward()
        optimizer.step()

    return module, step


def _time(step: Callable[[], None], steps: int, context: AbstractContextManager[Any]) -> float:
    with context:
        start = time.process_time()
        for _ in range(steps):
            step()
        return time.process_time() - start


def ratios(workload: Workload, rounds: int) -> dict[str, list[float]]:
    """For each variant, its ratios to no guard, one for each round."""
    module, step = training_step(workload)
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for variant in VARIANTS.values():
        _time(step, 2, variant(module))
    order = list(VARIANTS)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            gc.collect()
            gc.disable()
            before = _time(step, workload.steps, contextlib.nullcontext())
            taken = _time(step, workload.steps, VARIANTS[name](module))
            after = _time(step, workload.steps, contextlib.nullcontext())
            gc.enable()
            found[name].append(2 * taken / (before + after))
    return found


def _print(name: str, rounds: int) -> None:
    workload = WORKLOADS[name]
    module, step = training_step(workload)
    _time(step, 5, contextlib.nullcontext())
    unguarded = _time(step, 20, contextlib.nullcontext()) / 20
    print(f"\n{name}: {unguarded * 1e3:.2f} ms a step without a guard, {sum(1 for _ in module.modules())} modules")
    for variant, values in ratios(workload, rounds).items():
        low, median, high = statistics.quantiles(values, n=4)
        print(f"  {variant:34}{median:6.3f}   quartiles {low:.3f} to {high:.3f}")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.here:
        print(f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, one thread")
    for name in options.workloads:
        if options.here:
            _print(name, max(3, WORKLOADS[name].rounds // (10 if options.quick else 1)))
        else:
            quick = ["--quick"] if options.quick else []
            sys.stdout.flush()
            subprocess.run([sys.executable, "-m", "tests.guard.benchmark", "--here", *quick, name], check=True)


if __name__ == "__main__":
    main()
