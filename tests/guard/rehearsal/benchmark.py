"""`python -m tests.guard.rehearsal.benchmark [PAIRS]`: how much longer a training step takes in a rehearsal.

Each workload is timed on the CPU and in a rehearsal, in turn and in one process, with one thread. Times are of the
processor, since other work may run beside. The script prints the medians, and the ratio of the two.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import torch
from devlint_guard.rehearsal import rehearse
from torch import Tensor, nn

Step = Callable[[], None]


def _trained(net: nn.Module, loss: Callable[[], Tensor]) -> Step:
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def _classifier(net: nn.Module, x: Tensor, classes: int, device: str) -> Step:
    net, x = net.to(device), x.to(device)
    target = torch.zeros(len(x), dtype=torch.long, device=device)
    assert net(x).shape[1] == classes
    return _trained(net, lambda: nn.functional.cross_entropy(net(x), target))


def _mlp(device: str) -> Step:
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    return _classifier(net, torch.randn(16, 32), 4, device)


def _convolutions(device: str, width: int = 16, size: int = 16) -> Step:
    layers: list[nn.Module] = []
    for given in (3, width, width):
        layers += [nn.Conv2d(given, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 4))
    return _classifier(net, torch.randn(8, 3, size, size), 4, device)


def _wide_convolutions(device: str) -> Step:
    return _convolutions(device, width=64, size=48)


def _gpt2(device: str, width: int = 32) -> Step:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=64, n_positions=64, n_embd=width, n_layer=2, n_head=2)
    net: Any = GPT2LMHeadModel(config)
    net.to(device)
    words = torch.randint(0, 64, (4, 32), device=device)
    return _trained(net, lambda: net(words, labels=words).loss)


def _wide_gpt2(device: str) -> Step:
    return _gpt2(device, width=512)


WORKLOADS: Final[dict[str, tuple[Callable[[str], Step], int]]] = {
    "MLP": (_mlp, 60),
    "CNN": (_convolutions, 15),
    "GPT-2": (_gpt2, 8),
    "wide CNN": (_wide_convolutions, 1),
    "wide GPT-2": (_wide_gpt2, 1),
}
"""By name, what makes the step, and how many steps are one measurement."""


def _seconds(step: Step, steps: int) -> float:
    began = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - began) / steps


def main(pairs: int = 15) -> int:
    """Print a line for each workload."""
    torch.set_num_threads(1)
    for name, (made, steps) in WORKLOADS.items():
        plain = made("cpu")
        _seconds(plain, steps)
        times: list[tuple[float, float]] = []
        for pair in range(pairs + 1):
            on_cpu = _seconds(plain, steps)
            with rehearse():
                rehearsed = made("cuda")
                _seconds(rehearsed, max(1, steps // 4))  # the plans of the operators are made
                if pair:
                    times.append((on_cpu, _seconds(rehearsed, steps)))
        before, after = (statistics.median(one[side] for one in times) for side in (0, 1))
        ratio = statistics.median(one / other for other, one in times)
        print(
            f"{name}: {before * 1e3:.2f} ms on the CPU, {after * 1e3:.2f} ms in a rehearsal, ratio {ratio:.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
