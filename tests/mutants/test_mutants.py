"""The runner on a small project: it finds the places, cuts them out cleanly and tells who is noticed."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.mutants.__main__ import all_places, draw, line, table
from tests.mutants.places import places
from tests.mutants.trials import run

CODE = """
import torch


def noticed(x: torch.Tensor) -> torch.Tensor:
    mask = torch.ones(
        3,
        device=x.device,
    )
    return x + mask


def missed(x: torch.Tensor) -> torch.Tensor:
    return torch.ones(3, dtype=x.dtype, device=x.device)


class Holder:
    def moves(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + torch.arange(3).to(device=x.device, non_blocking=True)) * y.to(x.device, x.dtype)
"""


def _project(folder: Path) -> None:
    package = folder / "unpacked-1.0" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def left_out(x):\n    return x.to(x.device)\n")
    (package / "code.py").write_text(CODE)


def test_places_are_cut_out_of_the_text() -> None:
    """Arguments go with their comma, a `to` that has nothing left to do goes with its dot."""
    found = list(places(Path("code.py"), "", CODE))
    assert [place.said for place in found] == [
        "device=x.device,",
        ", device=x.device",
        "x.device, ",
        ".to(device=x.device, non_blocking=True)",
    ]
    assert [place.function for place in found] == [0, 1, 2, 2]
    for place in found:
        ast.parse(place.without(CODE))
    assert "return (x + torch.arange(3)) * y" in found[3].without(CODE)


def test_a_file_that_is_no_python_has_no_places() -> None:
    """Wheels hold such files as templates."""
    assert list(places(Path("code.py"), "", "def f(x) return x.device")) == []


def test_mutants_are_tried(tmp_path: Path) -> None:
    """Each is judged by what devlint says of its own function, and the file on disk stays as it is."""
    _project(tmp_path)
    everything = sorted(all_places(tmp_path))
    (tried,) = run(everything, jobs=1)
    assert [line(trial).split(":")[0] for trial in tried] == ["noticed", "missed", "noticed", "missed"]
    assert [row.split()[-4:] for row in table(tried).splitlines()] == [
        ["2", "of", "4", "50%"],
        ["1", "of", "2", "50%"],
        ["1", "of", "2", "50%"],
        ["2", "of", "4", "50%"],
    ]
    assert (tmp_path / "unpacked-1.0" / "pkg" / "code.py").read_text() == CODE


def test_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    """The draw depends on the seed and the places only."""
    _project(tmp_path)
    everything = sorted(all_places(tmp_path))
    assert draw(everything, 2, seed=5) == draw(everything, 2, seed=5)
    assert len(draw(everything, 500, seed=5)) == len(everything)
