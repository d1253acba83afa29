"""What a guard and a rehearsal cost: `python -m tests.guard.benchmark [--quick] [WORKLOAD…]`, in about twenty minutes.

A variant is timed between two runs without it, in one process, and its ratio is to the mean of the two; what is
printed is the median over many such pairs, with quartiles. `none` between two runs of itself shows how far to trust
them. Times are of the processor, since other work may run beside; on a machine that has nothing else to do they are the
best. Each workload has a process of its own, and so has each figure of a long run: where things lie in the memory of a
process shifts all that it measures by more than a guard does.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from devlint_guard.rehearsal import rehearse
from devlint_guard.session import Guard
from torch import Tensor, nn

Step = Callable[[], None]
Quartiles = tuple[float, float, float]

CLASSES = 10
WARM = 8
"""So many steps are run before those that count.

In the first three a guard does more, and ends that by changing the class of modules, which Python takes some steps to
learn.
"""


# --- workloads ----------------------------------------------------------------------------------------------


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

    def forward(self, x: Tensor) -> object:
        return self.last(x + self.body(x))


class Words(nn.Module):
    """A GPT-2 of transformers that tells one class for each text."""

    def __init__(self, width: int) -> None:
        from transformers import GPT2Config, GPT2Model

        super().__init__()
        made: Any = GPT2Model
        self.net = made(GPT2Config(vocab_size=64, n_positions=64, n_embd=width, n_layer=2, n_head=2))
        self.last = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> object:
        return self.last(self.net(x).last_hidden_state.mean(1))


def _mlp() -> tuple[nn.Module, Tensor]:
    layers: list[nn.Module] = [nn.Linear(32, 64), nn.ReLU()]
    for _ in range(3):
        layers += [nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(64, CLASSES)), torch.randn(16, 32)


def _transformer() -> tuple[nn.Module, Tensor]:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    network = nn.Sequential(nn.TransformerEncoder(layer, 4), nn.Flatten(), nn.Linear(32 * 64, CLASSES))
    return network, torch.randn(8, 32, 64)


def _resnet() -> tuple[nn.Module, Tensor]:
    stem: list[nn.Module] = [nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    body = [*stem, *(Block(32) for _ in range(6)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, CLASSES)]
    return nn.Sequential(*body), torch.randn(8, 3, 16, 16)


def _gpt2(width: int = 32) -> tuple[nn.Module, Tensor]:
    return Words(width), torch.randint(64, (4, 32))


class Workload(NamedTuple):
    """A training step to time.

    Attributes:
        build: makes the module and its input.
        rounds, steps: how many pairs, and how many steps in each run.
    """

    build: Callable[[], tuple[nn.Module, Tensor]]
    rounds: int
    steps: int


WORKLOADS = {
    "mlp": Workload(_mlp, 100, 20),
    "transformer": Workload(_transformer, 50, 2),
    "resnet": Workload(_resnet, 30, 1),
    "gpt2": Workload(_gpt2, 30, 2),
    "wide gpt2": Workload(lambda: _gpt2(512), 10, 1),
}
LONG_WORKLOAD = "mlp"


@dataclass(slots=True)
class Trained:
    """A module, and a function that trains it by one step."""

    workload: Workload
    module: nn.Module
    step: Step

    @classmethod
    def on(cls, device: str, workload: Workload) -> Trained:
        """Build a workload on a device."""
        torch.manual_seed(0)
        module, batch = workload.build()
        module, batch = module.to(device), batch.to(device)
        target = torch.randint(CLASSES, (len(batch),)).to(device)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.AdamW(module.parameters(), foreach=False)

        def step() -> None:
            optimizer.zero_grad()
            criterion(module(batch), target).backward()
            optimizer.step()

        return cls(workload, module, step)

    @contextlib.contextmanager
    def guarded(self, **options: Any) -> Iterator[Step]:
        """While the body runs, a guard watches the module; gives the step."""
        with Guard(self.module, **options):
            yield self.step

    @contextlib.contextmanager
    def rehearsed(self) -> Iterator[Step]:
        """While the body runs, the workload is rehearsed; gives its step there."""
        with rehearse():
            yield Trained.on("cuda", self.workload).step


# --- measurements -------------------------------------------------------------------------------------------

NULL = "none (again)"
VARIANTS: dict[str, Callable[[Trained], AbstractContextManager[Step]]] = {
    NULL: lambda one: contextlib.nullcontext(one.step),
    "module level": lambda one: one.guarded(level="module"),
    "operator level": lambda one: one.guarded(level="deep"),
    "  with ledger": lambda one: one.guarded(level="deep", ledger=True),
    "rehearsal": lambda one: one.rehearsed(),
}
LIMITS = {
    "module level": {"mlp": 1.02, "transformer": 1.01, "resnet": 1.01},
    "operator level": {"mlp": 3.1, "transformer": 1.9, "resnet": 1.3},
}
ADAPTIVE = "adaptive, long run"
LONG_NULL = "  none after none"
LONG_ROUNDS = 30
"""So many processes give one figure each."""
LONG, FIRST = 1000, 40
"""Steps of a run as users have it; and of them, those timed together with entering and leaving, or behind so many."""
FIRST_PAIRS, LATER_PAIRS = 5, 20
"""So many pairs give one figure of such a run."""
ADAPTIVE_LIMIT = 1.02


def _time(steps: int, context: AbstractContextManager[Step], warm: int = WARM) -> float:
    """Seconds for some steps. Without steps before, entering and leaving the context count, else they do not.

    What changes a class, as a guard does, makes Python forget what it has learnt of the code that uses it.
    """
    start = time.process_time()
    with context as step:
        for _ in range(warm):
            step()
        start = time.process_time() if warm else start
        for _ in range(steps):
            step()
        end = time.process_time()
    return (end if warm else time.process_time()) - start


def _ratio(one: Trained, steps: int, context: AbstractContextManager[Step], warm: int = WARM) -> float:
    gc.collect()
    gc.disable()
    before = _time(steps, contextlib.nullcontext(one.step))
    taken = _time(steps, context, warm)
    after = _time(steps, contextlib.nullcontext(one.step))
    gc.enable()
    return 2 * taken / (before + after)


def long_ratios() -> dict[str, float]:
    """A figure of a long run under a guard, and one of none after none."""
    one = _settled(WORKLOADS[LONG_WORKLOAD])
    return {ADAPTIVE: _long_ratio(one, one.guarded), LONG_NULL: _long_ratio(one, lambda: VARIANTS[NULL](one))}


def _long_ratio(one: Trained, context: Callable[[], AbstractContextManager[Step]]) -> float:
    """Of a long run in a context, entered and left within the time.

    It is put together from its beginning and the rest, each the median of many short pairs: in the seconds that a
    long run takes, the speed of a machine drifts by more than what is measured.
    """
    first = statistics.median(_ratio(one, FIRST, context(), warm=0) for _ in range(FIRST_PAIRS))
    later = statistics.median(_ratio(one, FIRST, context(), warm=FIRST) for _ in range(LATER_PAIRS))
    return (FIRST * first + (LONG - FIRST) * later) / LONG


def _settled(workload: Workload) -> Trained:
    """A workload, once every variant has been in use."""
    one = Trained.on("cpu", workload)
    for variant in VARIANTS.values():
        _time(2, variant(one))
    gc.freeze()  # what is there by now costs no collection any more
    return one


def ratios(name: str, quick: bool) -> dict[str, Quartiles]:
    """For each variant the quartiles of its ratios to no guard."""
    one = _settled(WORKLOADS[name])
    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    order = list(VARIANTS)
    for _ in range(max(3, one.workload.rounds // (10 if quick else 1))):
        random.shuffle(order)
        for chosen in order:
            found[chosen].append(_ratio(one, one.workload.steps, VARIANTS[chosen](one)))
    return {measured: _quartiles(values) for measured, values in found.items()}


def _quartiles(values: list[float]) -> Quartiles:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


# --- the table ----------------------------------------------------------------------------------------------


def _table(measured: dict[str, dict[str, Quartiles]]) -> Iterator[str]:
    """A row for each variant, with its limits; `~` where the null comparison is as far off."""
    limits = {**LIMITS, ADAPTIVE: {LONG_WORKLOAD: ADAPTIVE_LIMIT}}
    rows = [*VARIANTS, *([ADAPTIVE, LONG_NULL] if LONG_WORKLOAD in measured else [])]
    yield " " * 20 + "".join(f"{name:>30}" for name in measured)
    for row in rows:
        null = LONG_NULL if row in (ADAPTIVE, LONG_NULL) else NULL
        cells = [
            _cell(found[row], limits.get(row, {}).get(name), found[null]) if row in found else ""
            for name, found in measured.items()
        ]
        yield row.ljust(20) + "".join(f"{cell:>30}" for cell in cells)


def _cell(quartiles: Quartiles, limit: float | None, null: Quartiles) -> str:
    low, median, high = quartiles
    text = f"{median:.3f} ({low:.3f} to {high:.3f})"
    if limit is None:
        return text + "  " * 4
    mark = " " if median <= limit else "~" if median <= null[2] + limit - 1 else "!"
    return f"{text} ≤{limit:g}{mark}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.only:
        print(json.dumps(long_ratios() if options.only == "long" else ratios(options.only, options.quick)))
        return
    quick = ["--quick"] if options.quick else []
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, one thread")
    print("ratios to none, median and quartiles; ≤ is the limit, ! is over it, ~ over it by no more than the null\n")
    measured = {name: _run(name, quick) for name in options.workloads}
    if LONG_WORKLOAD in measured:
        figures = [_run("long", quick) for _ in range(LONG_ROUNDS // (10 if options.quick else 1))]
        measured[LONG_WORKLOAD] |= {name: _quartiles([each[name] for each in figures]) for name in figures[0]}
    print("\n".join(_table(measured)))


def _run(what: str, options: list[str]) -> Any:
    """What a process of its own has measured."""
    command = [sys.executable, "-m", "tests.guard.benchmark", *options, "--only", what]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
