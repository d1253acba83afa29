"""What modules show before they are called, also under a guard that was given none."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import Guard, guard  # noqa: E402
from devlint_guard.errors import MetaTensorError, UnexpectedDeviceError  # noqa: E402
from devlint_guard.options import VARIABLE, from_env  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from tests.judge import Judge  # noqa: E402

CALL = nn.Module.__call__


class Network(nn.Module):
    """Keeps a tensor and a module where no move reaches them, and uses neither."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = [nn.Linear(4, 4, device="meta")]
        self.table = torch.zeros(4, device="meta")

    def forward(self, x: Tensor) -> Any:
        return self.first(x)


def x() -> Any:
    return torch.ones(2, 4)


def split() -> Any:
    """A module that was moved before all of it was there."""
    norm = nn.BatchNorm1d(4)
    norm.running_mean = torch.zeros(4, device="meta")
    return nn.Sequential(nn.Linear(4, 4), norm)


def told(active: Guard) -> list[tuple[str, str]]:
    return [(one.code, one.operands[0].name) for one in active.suspects]


# --- modules that the guard was not given -------------------------------------------------------------------


@pytest.mark.parametrize("level", ["module", "adaptive", "deep"])
def test_a_module_is_looked_through_when_it_is_called_first(level: Any) -> None:
    network = Network()
    with guard(level=level) as active:
        assert active.suspects == []
        for _ in range(3):
            network(x())
    assert told(active) == [("DEV201", "network.table"), ("DEV202", "network.rest[0].weight")]
    assert [one.count for one in active.suspects] == [1, 1]
    assert [one.place.function for one in active.suspects if one.place] == [
        "test_a_module_is_looked_through_when_it_is_called_first"
    ] * 2
    assert nn.Module.__call__ is CALL


def test_what_is_split_is_an_error_of_pytorch_or_one_of_the_guard() -> None:
    network = split()
    try:
        network(x())
    except RuntimeError as error:
        plain = type(error)
    else:
        plain = MetaTensorError
    with pytest.raises(RuntimeError) as caught, guard() as active:
        network(x())
    assert type(caught.value) is plain
    assert [one.code for one in active.findings] == ["DEV602"]
    assert "network.1.running_mean" in [one.operands[0].name for one in active.suspects]


def test_an_expected_device_of_a_module_that_an_object_holds() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.network = nn.Linear(4, 4)

        def train(self) -> None:
            self.network(x())

    with pytest.raises(UnexpectedDeviceError) as caught, guard(expect="cuda"):
        Trainer().train()
    assert caught.value.finding.operands[0].name == "self.network.weight"
    assert caught.value.finding.help == ('move the module: `self.network.to("cuda")`',)


def test_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "record")
    network = Network()
    with from_env() as active:
        network(x())
    assert active is not None
    assert told(active) == [("DEV201", "network.table"), ("DEV202", "network.rest[0].weight")]


def test_one_that_another_calls_is_part_of_it() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Network()

        def forward(self, x: Tensor) -> Any:
            return self.inner(x)

    outer = Outer()
    with guard() as active:
        outer(x())
        outer.inner(x())
    assert [name for _, name in told(active)][:2] == ["outer.inner.table", "outer.inner.rest[0].weight"]


def test_what_a_guard_was_given_is_looked_through_on_entry_alone() -> None:
    network = Network()
    with guard() as outer, guard(network) as inner:
        assert len(inner.suspects) == 2
        network(x())
    assert (outer.suspects, [one.count for one in inner.suspects]) == ([], [1, 1])


def test_later_steps_have_no_first_calls() -> None:
    network = Network()
    with guard(level="module") as active, torch.no_grad():
        linear = nn.Linear(4, 4)
        counting = nn.Module.__call__
        for _ in range(4):
            linear(x())
        assert nn.Module.__call__ is not counting
        network(x())
    assert active.suspects == []


def test_the_report_shows_the_modules_that_were_called(tmp_path: Path) -> None:
    network = Network()
    with guard(report=tmp_path / "report.html") as active:
        network(x())
        nn.CrossEntropyLoss()(x(), x())
        assert [(root.name, root.kind) for root in active.record().roots] == [("Network", "Network")]
    assert "rest" in (tmp_path / "report.html").read_text()
    assert [root.name for root in active.record().roots] == ["Network"]


def test_nothing_holds_a_module_that_was_called() -> None:
    network = nn.Sequential(nn.Linear(4, 4))
    before = weakref.getweakrefs(network)  # Dynamo, once it was used, tags each new module
    with guard() as active:
        network(x())
        assert weakref.getweakrefs(network) != before
    assert weakref.getweakrefs(network) == before
    gone = weakref.ref(network)
    del network
    gc.collect()
    assert gone() is None
    assert active.findings == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_traced_is_left_alone() -> None:
    network = Network()
    with guard() as active:
        torch.jit.trace(network, (x(),), check_trace=False)
    assert active.suspects == []


# --- modules that may be moved before they are used ---------------------------------------------------------


def test_a_hook_of_an_outer_module_may_mend_what_is_split() -> None:
    network = split()

    def mend(module: Any, args: object) -> None:
        module[1].running_mean = torch.zeros(4)

    network.register_forward_pre_hook(mend)
    with guard(network, expect="cpu") as active:
        network(x())
    assert active.findings == []
    assert [one.code for one in active.suspects] == ["DEV603", "DEV602"]


def test_parameters_whose_size_is_not_known_yet(tmp_path: Path) -> None:
    lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    with guard(lazy, expect="cpu", report=tmp_path / "report.json"):
        pass
    with guard(lazy, expect="cpu") as active:
        lazy(x())
    assert active.findings == active.suspects == []


def test_optimizers_without_a_module() -> None:
    linear = nn.Linear(4, 4)
    optimizer = torch.optim.Adam(linear.parameters())
    linear(x()).sum().backward()
    optimizer.step()
    optimizer.state[linear.weight]["exp_avg"] = torch.zeros(4, 4, device="meta")
    with pytest.raises(RuntimeError), guard() as active:
        optimizer.step()
    assert [one.operands[0].name for one in active.findings] == ["'exp_avg' of linear.weight"]


# --- parameters with two names ------------------------------------------------------------------------------

TIED = """\
import pytest, torch
from torch import nn
from devlint_guard import guard
from devlint_guard.errors import SplitModuleError

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 5)
        self.head.weight = self.table.weight
    def forward(self, index):
        return self.head(self.table(index))

advice = (
    "`net.table.weight` and `net.head.weight` are one parameter, which goes where either module is moved: "
    "move them together"
)

# A parameter is moved in place: it stays one, and the rest of the other module stays behind.
net = Tied().to("cuda:0")
net.table.to("cuda:1")
assert net.table.weight is net.head.weight
with pytest.raises(RuntimeError):
    net(torch.tensor([1], device="cuda:1"))
with pytest.raises(SplitModuleError) as caught, guard(net):
    pass
assert caught.value.finding.module == "net.head"
assert advice in caught.value.finding.help
with pytest.raises(RuntimeError) as caught, guard() as active:
    net(torch.tensor([1], device="cuda:1"))
assert type(caught.value) is RuntimeError
assert advice in active.findings[0].help

# The module that holds nothing else goes along as a whole, away from what it is given.
net = Tied().to("cuda:0")
net.head.to("cuda:1")
with pytest.raises(RuntimeError), guard(net) as active:
    net(torch.tensor([1], device="cuda:0"))
assert active.findings[0].module == "net.table"
net(torch.tensor([1], device="cuda:1"))
"""


def test_tied_parameters_that_one_module_has_taken_along(judge: Judge) -> None:
    verdict = judge.run(TIED)
    assert verdict.outcome == "ok", f"{verdict.message}\\n{verdict.stdout}"
