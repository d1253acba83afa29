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
    def noticed_if_asked(self, name: str) -> torch.Tensor:
        found = self.load(name)
        return found * torch.ones(3, device=found.device)

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
        ", device=found.device",
        "x.device, ",
        ".to(device=x.device, non_blocking=True)",
    ]
    assert [place.function for place in found] == [0, 1, 2, 3, 3]
    for place in found:
        ast.parse(place.without(CODE))
    assert "return (x + torch.arange(3)) * y" in found[4].without(CODE)


HANDED_ON = """
import torch


class Holder:
    def returns(self, x):
        return torch.ones(3, device=x.device), x

    def returns_a_name(self, x):
        made = torch.ones(3, device=x.device)
        made[0] = 2
        other = made if x.shape == made.shape else None
        return other

    def keeps(self, x):
        self.mask = torch.ones(3, device=x.device)

    def computes(self, x):
        return torch.ones(3, device=x.device) * x

    def computes_with_a_number(self, x):
        return torch.zeros((), device=x.device) + x * torch.tensor(-1.5, device=x.device)

    def computes_later(self, x):
        made = torch.ones(3, device=x.device)
        return made + x

    def makes_one_like_another(self, x, y):
        return x + torch.zeros_like(y, device=x.device)

    def makes_one_like_what_it_made(self, x):
        return x + torch.zeros_like(torch.ones(3), device=x.device)

    def selects(self, x):
        rows = torch.arange(3, device=x.device)
        return x[rows] + x[:, rows]

    def selects_and_computes(self, x):
        rows = torch.arange(3, device=x.device)
        return x[rows] + rows

    def moves_a_parameter(self, x, y):
        y = y.float()
        return x + y.to(x.device)

    def moves_a_result(self, x):
        return x + self.load().to(x.device)

    def moves_what_it_made(self, x):
        made = torch.ones(3)
        made = made / made.sum()
        return x + made.to(x.device)

    def moves_it_back(self, x):
        return x + x.cpu().sort()[0].to(x.device)
"""


def test_places_say_what_their_function_may_not_show() -> None:
    """Values that are only handed on meet nothing, and of those from elsewhere nobody knows where they are."""
    assert [place.kind for place in places(Path("code.py"), "", HANDED_ON)] == [
        "factory, handed on",
        "factory, handed on",
        "factory, handed on",
        "factory",
        "factory, of a number",
        "factory, of a number",
        "factory",
        "factory, like one from elsewhere",
        "factory",
        "factory, an index",
        "factory",
        "move, from elsewhere",
        "move, from elsewhere",
        "move",
        "move",
    ]


def test_a_file_that_is_no_python_has_no_places() -> None:
    """Wheels hold such files as templates."""
    assert list(places(Path("code.py"), "", "def f(x) return x.device")) == []


def test_mutants_are_tried(tmp_path: Path) -> None:
    """Each is judged by what devlint says of its own function, and the file on disk stays as it is."""
    _project(tmp_path)
    everything = sorted(all_places(tmp_path))
    (tried,) = run(everything, jobs=1)
    assert [line(trial).split(":")[0] for trial in tried] == [
        "noticed",
        "noticed if asked",
        "noticed if asked",
        "noticed",
        "missed",
    ]
    assert [" ".join(row.split()) for row in table(tried).splitlines()] == [
        "default rules every rule",
        "in view 2 of 3 67% 3 of 3 100%",
        "package unpacked-1.0 2 of 5 40% 4 of 5 80%",
        "place factory 1 of 2 50% 2 of 2 100%",
        "place factory, handed on 0 of 1 0% 1 of 1 100%",
        "place move 1 of 1 100% 1 of 1 100%",
        "place move, from elsewhere 0 of 1 0% 0 of 1 0%",
        "total 2 of 5 40% 4 of 5 80%",
    ]
    assert (tmp_path / "unpacked-1.0" / "pkg" / "code.py").read_text() == CODE


def test_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    """The draw depends on the seed and the places only."""
    _project(tmp_path)
    everything = sorted(all_places(tmp_path))
    assert draw(everything, 2, seed=5) == draw(everything, 2, seed=5)
    assert len(draw(everything, 500, seed=5)) == len(everything)
