"""What guard and rehearsal cost a program before its first step: `python -m tests.guard.preparation [PAIRS [PYTHON]]`.

Each program runs in turn with and without them, in processes of its own, with one thread. What is printed is the median
and the quartiles of the ratios of each pair. The time is that of the processor. With the Python of another environment,
whose devlint is compared, a line for the training steps follows.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PROGRAM: Final = """\
import time
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
{before}
torch.full((4,), 1.0) / 255 - 0.5
begin = time.process_time()
rows = []
for index in range({rows}):
    row = torch.full((4,), float(index))
    rows.append((row / 255 - 0.5) / 0.25)
print("preparation", time.process_time() - begin)
net.to(device)
data = torch.stack(rows).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range({steps}):
    if step == {warm}:
        begin = time.process_time()
    net(data[step : step + 32]).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("steps", time.process_time() - begin)
"""

COMMANDS: Final[dict[str, list[str]]] = {
    "without": [],
    "guard": ["-m", "devlint", "run"],
    "rehearsal": ["-m", "devlint", "rehearse"],
}

PROGRAMS: Final = {
    "before the move": PROGRAM.format(before="", rows=50_000, steps=1, warm=0),
    "after the move": PROGRAM.format(before="net.to(device)", rows=50_000, steps=1, warm=0),
}

STEPS: Final = {
    "guard, first steps": ("guard", PROGRAM.format(before="", rows=100, steps=3, warm=0)),
    "guard, later steps": ("guard", PROGRAM.format(before="", rows=3_000, steps=2_000, warm=10)),
    "rehearsal, steps": ("rehearsal", PROGRAM.format(before="", rows=500, steps=300, warm=20)),
}


def seconds(program: str, command: list[str], what: str, python: str = sys.executable) -> float:
    """How long a part of a program takes, as it says itself."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(program, encoding="utf-8")
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(
            [python, *command, str(file)], capture_output=True, text=True, check=True, env=environment, cwd=folder
        )
    return float(next(line for line in ended.stdout.splitlines() if line.startswith(what)).split()[1])


def _tell(name: str, ratios: list[float]) -> None:
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    print(f"{name}: {median:.2f} ({low:.2f} to {high:.2f})", flush=True)


def main(pairs: str = "7", other: str = "") -> None:
    """Print a line for each ratio."""
    for name, program in PROGRAMS.items():
        found: dict[str, list[float]] = {variant: [] for variant in COMMANDS}
        for _ in range(int(pairs)):
            taken = {variant: seconds(program, command, "prep") for variant, command in COMMANDS.items()}
            for variant in COMMANDS:
                found[variant].append(taken[variant] / taken["without"])
        for variant in ("guard", "rehearsal"):
            _tell(f"preparation {name}, {variant} to none", found[variant])
    for name, (variant, program) in STEPS.items() if other else ():
        command = COMMANDS[variant]
        _tell(
            f"{name}, to the other devlint",
            [seconds(program, command, "steps") / seconds(program, command, "steps", other) for _ in range(int(pairs))],
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
