"""How long a user waits where there is little to do: start-up, nothing changed, one file changed in a large project."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.benchmark.measure import Cost, Row, measured

RUNS = 5
"""Each command is run so often, and its least CPU time counts: what other programs cost it differs."""

MODULE = """\
import torch
from torch import nn
{imports}

class Layer{number}(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return torch.relu(self.linear(x)) + torch.zeros(x.shape, device=x.device)
"""
PACKAGE = 100
CHAIN = 10
"""So many modules are in a package; each but every tenth imports its neighbour."""


def write_project(folder: Path, modules: int) -> Path:
    """Write a project of so many modules of a dozen lines, and return one that no other imports."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    path = folder
    for number in range(modules):
        package = f"part{number // PACKAGE}"
        (folder / package).mkdir(exist_ok=True)
        (folder / package / "__init__.py").write_text("")
        neighbour = f"from {package}.mod{number - 1} import Layer{number - 1}\n" if number % CHAIN else ""
        path = folder / package / f"mod{number}.py"
        path.write_text(MODULE.format(imports=neighbour, number=number))
    return path


def latencies(devlint: Sequence[str], version: str, modules: int) -> Iterator[Row]:
    """What devlint takes where it has little to do, and ruff without a cache, if it is there."""
    with tempfile.TemporaryDirectory() as place:
        plain, project = Path(place, "plain"), Path(place, "project")
        plain.mkdir()
        (plain / "plain.py").write_text("x = 1\n")
        changing = write_project(project, modules)
        environment = {"DEVLINT_CACHE_DIR": str(Path(place, "cache")), "PYTHONDONTWRITEBYTECODE": ""}

        def least(command: Sequence[str], cwd: Path, before: Callable[[], object] = lambda: None) -> Cost:
            costs = []
            for _ in range(RUNS):
                before()
                costs.append(measured(command, cwd=cwd, environment=environment))
            return min(costs, key=lambda cost: cost.cpu)

        def change() -> None:
            with changing.open("a") as file:
                file.write("# changed\n")

        check = [*devlint, "check", "--isolated", "--exit-zero", "."]
        for folder in (plain, project):
            measured(check, cwd=folder, environment=environment)
        yield Row("bare Python", sys.version.partition(" ")[0], least([sys.executable, "-c", "pass"], plain))
        yield Row("`devlint --version`", version, least([*devlint, "--version"], plain))
        yield Row("devlint, no file mentions torch", version, least(check, plain))
        yield Row(f"devlint, {modules:,} modules, nothing changed", version, least(check, project))
        yield Row(f"devlint, {modules:,} modules, one changed", version, least(check, project, change))
        if shutil.which("ruff") is not None:
            ruff = ["ruff", "check", "--isolated", "--no-cache", "--exit-zero", "."]
            yield Row(f"ruff, {modules:,} modules, no cache", "", least(ruff, project))
