"""What a recording guard sees of the user's functions."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Literal

import pytest

torch = pytest.importorskip("torch")

import torch._dynamo  # noqa: E402, F811
from devlint.cli import main  # noqa: E402
from devlint_guard import guard  # noqa: E402
from devlint_guard.observed import Called, Observed, Seen  # noqa: E402
from devlint_guard.observer import EACH  # noqa: E402
from devlint_guard.report.json import read  # noqa: E402
from torch import Tensor  # noqa: E402
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from tests.guard.processes import forked, write  # noqa: E402

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.table = table

    @torch.no_grad()
    def forward(self, x, mask=None):
        y = self.fc(x)
        return y + self.table, torch.device("cpu")

def step(net, batch, *rest, device):
    def inner(row):
        return row
    out, _ = net(batch["x"].to(device))
    return inner(out[0])

def count():
    yield 1

net = Net(torch.ones(4))
for size in (1, 2):
    step(net, {"x": torch.ones(size, 4), "name": "train"}, device="cpu")
step(net, {"x": torch.ones(3, 4), "name": None}, device=torch.device("cpu"))
list(count())
"""


def recorded(folder: Path, text: str, *options: str) -> Observed:
    """What is recorded of a program."""
    write(folder / "train.py", text)
    ended = forked(
        folder,
        main,
        ["devlint", "run", "--guard-mode", "record", "--guard-report", "run.json", *options, "train.py"],
        {"DEVLINT_GUARD": ""},
    )
    assert ended.returncode == 0, ended.stderr
    (observed,) = read((folder / "run.json").read_text()).observed
    return observed


def test_functions_and_what_they_were_called_with(tmp_path: Path) -> None:
    observed = recorded(tmp_path, PROGRAM)
    assert (observed.rank, observed.problem) == (None, "")
    called = {one.function: one for one in observed.functions}
    assert [(name, one.line, one.calls) for name, one in called.items()] == [
        ("Net.__init__", 5, 1),
        ("Net.forward", 11, 3),
        ("step", 15, 3),
        ("step.inner", 16, 3),
    ]
    assert called["Net.forward"] == Called(
        "train.py",
        "Net.forward",
        11,
        called["Net.forward"].digest,
        3,
        {
            "mask": Seen(("none",)),
            "self.fc": Seen(("module",), ("cpu",)),
            "self.table": Seen(("tensor",), ("cpu",), (1,)),
            "x": Seen(("tensor",), ("cpu",), (2,)),
        },
        {
            "return": Seen(("tuple",), (), (2,)),
            "return[0]": Seen(("tensor",), ("cpu",), (2,)),
            "return[1]": Seen(("device",), ("cpu",)),
            "y": Seen(("tensor",), ("cpu",), (2,)),
        },
    )
    assert called["step"].entry == {
        "batch": Seen(("dict",)),
        "batch['name']": Seen(("none", "other")),
        "batch['x']": Seen(("tensor",), ("cpu",), (2,)),
        "device": Seen(("device",), ("cpu",)),
        "net": Seen(("module",), ("cpu",)),
    }


def test_places_that_change_have_all_that_they_had(tmp_path: Path) -> None:
    text = """\
        import torch
        def f(x, n): ...
        f(torch.ones(2, 2), [])
        f(torch.ones(2, device="meta"), (torch.ones(2),))
        f(3, torch.nn.Linear(1, 1, device="meta"))
        """
    (called,) = recorded(tmp_path, textwrap.dedent(text)).functions
    assert called.entry == {
        "n": Seen(("list", "module", "tuple"), ("meta",), (0, 1)),
        "n[0]": Seen(("tensor",), ("cpu",), (1,)),
        "x": Seen(("other", "tensor"), ("cpu", "meta"), (1, 2)),
    }


def test_later_calls_are_looked_at_ever_more_rarely(tmp_path: Path) -> None:
    text = f"""\
        import torch
        def f(x): ...
        for call in range(1, 300):
            f(torch.ones(1) if call <= {EACH} else torch.ones(()) if call != 256 else torch.ones(1, 1, 1))
        """
    (called,) = recorded(tmp_path, textwrap.dedent(text)).functions
    assert called.calls == 299
    assert called.entry["x"].sizes == (0, 1, 3)


def test_nothing_that_an_object_does_disturbs_the_program(tmp_path: Path) -> None:
    text = """\
        import torch
        class Odd(torch.nn.Module):
            def parameters(self, recurse=True):
                raise KeyError("never asked")
        class Untouched(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *args, **kwargs):
                raise KeyError("never asked")
        def f(odd, x): ...
        f(Odd(), torch.ones(2).as_subclass(Untouched))
        """
    (called,) = recorded(tmp_path, textwrap.dedent(text)).functions
    assert called.entry["x"] == Seen(("tensor",), ("cpu",), (1,))


@pytest.mark.parametrize(("mode", "name"), [("warn", "run.json"), ("record", "run.html"), ("record", None)])
def test_only_a_guard_that_records_for_others_to_read_looks(
    tmp_path: Path, mode: Literal["warn", "record"], name: str | None
) -> None:
    with guard(mode=mode, report=None if name is None else tmp_path / name) as other:
        scaled(torch.ones(1))
        assert sys.getprofile() is None
    assert other.record().observed == ()


def scaled(x: Tensor) -> Tensor:
    return x * 2


def test_compiled_functions_are_compiled_as_without_it(tmp_path: Path) -> None:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(scaled, backend=counter, fullgraph=True)
    rows = torch.ones(3)
    plain = compiled(rows)
    with guard(mode="record", level="module", report=tmp_path / "run.json") as active:
        seen = compiled(rows)
    ((observed,),) = [one.functions for one in active.record().observed]
    assert (observed.function, observed.entry) == ("scaled", {"x": Seen(("tensor",), ("cpu",), (1,))})
    assert torch.equal(plain, compiled(rows))
    assert torch.equal(plain, seen)
    assert counter.frame_count == 1
