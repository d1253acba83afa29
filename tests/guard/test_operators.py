"""The operator level: it tells what PyTorch refuses and what it lets through, changes nothing, and leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.finding import Finding, Role  # noqa: E402
from devlint_guard.watch.operators import OperatorMode  # noqa: E402
from devlint_guard.watch.regimes import Regime, regime_of  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.utils import _python_dispatch  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from tests.conftest import REPOSITORY, sampled, since  # noqa: E402
from tests.judge import Judge, require_judge  # noqa: E402

ROOTS = (REPOSITORY / "runtime_guard", REPOSITORY)


class StoppedError(Exception):
    """Raised by a sink."""


def stop(finding: Finding) -> None:
    raise StoppedError(finding)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No mode stays in the stack, and no flag that PyTorch keeps about modes."""
    before = _flags()
    yield
    assert _python_dispatch._get_current_dispatch_mode_stack() == []
    assert _flags() == before


def _flags() -> list[object]:
    return [value for name, value in sorted(vars(_python_dispatch).items()) if name.startswith("_is_in_")]


# --- what is found ------------------------------------------------------------------------------------------


def test_a_product_with_a_tensor_without_data_is_found_before_it_runs() -> None:
    x, weight = torch.ones(2, 2), torch.ones(2, 2, device="meta")
    with OperatorMode(stop), pytest.raises(StoppedError) as stopped:
        x @ weight
    finding: Finding = stopped.value.args[0]
    assert finding.code == "DEV602"
    assert [(one.name, one.role, one.device, one.blamed) for one in finding.operands] == [
        ("weight", Role.VARIABLE, "meta", True),
        ("x", Role.VARIABLE, "cpu", False),
    ]
    assert finding.place is not None
    assert (
        finding.place.line
        == test_a_product_with_a_tensor_without_data_is_found_before_it_runs.__code__.co_firstlineno + 3
    )


def test_pytorch_accepts_that_product() -> None:
    """What the test above is for: nothing else says it."""
    assert (torch.ones(2, 2) @ torch.ones(2, 2, device="meta")).shape == (2, 2)


class Network(nn.Module):
    """Convolves."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 1, 1, bias=False))

    def forward(self, x: Tensor) -> object:
        return self.layers(x)


def test_a_convolution_with_weights_without_data_is_found() -> None:
    network = Network().to("meta")
    found: list[Finding] = []
    with OperatorMode(found.append, roots={"network": network}):
        network(torch.ones(1, 1, 2, 2))
    assert [finding.code for finding in found] == ["DEV602"]
    assert found[0].module == "network.layers.0"
    assert {(operand.name, operand.device) for operand in found[0].operands} == {("self.layers", "meta"), ("x", "cpu")}


def test_findings_in_the_backward_pass_have_the_line_that_starts_it() -> None:
    class Wrong(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: object, grad: Tensor) -> object:
            return torch.mm(grad, torch.ones(1, 1, device="meta"))

    x = torch.ones(1, 1, requires_grad=True)
    found: list[Finding] = []
    with OperatorMode(found.append):
        torch.Tensor.backward(Wrong.apply(x), torch.ones(1, 1))
    assert [(finding.code, finding.place and finding.place.function.split(".")[-1]) for finding in found] == [
        ("DEV602", "backward")
    ]


@pytest.mark.parametrize(
    ("name", "regime"),
    [
        ("mm", Regime.STRICT),
        ("add.Tensor", Regime.ELEMENTWISE),
        ("cat", Regime.STRICT),
        ("clamp.Tensor", Regime.STRICT),
        ("index.Tensor", Regime.INDEX),
        ("masked_fill.Tensor", Regime.OWN),
        ("copy_", Regime.OWN),
        ("no_such_operator", Regime.OWN),
    ],
)
def test_regimes_are_what_pytorch_declares(name: str, regime: Regime) -> None:
    assert regime_of(name) is regime


def _sweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(root) for root in ROOTS])
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.guard.sweep", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": path, "SAMPLES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("tried", "least"), [(12, 40), pytest.param(40, 60, marks=pytest.mark.long)])
def test_a_finding_is_always_an_error_of_pytorch(tried: int, least: int) -> None:
    """On a sample of PyTorch's operators; `python -m tests.guard.sweep` does it for all."""
    require_judge()
    always = ("cat", "add", "where", "index_put", "masked_fill", "nn.functional.conv2d")
    done = _sweep("--sample", str(tried), *always)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["foretold"] > least
    assert counts["foretold"] > 3 * counts["missed"]


KNOWN_MISSES = (
    "nn.Lazy",  # a hook makes the parameters on the first call, and may do more
    "nn.LinearCrossEntropyLoss",  # calls another module
    # what has no dimensions and is on the CPU is taken for a number, which goes with every device in most operators
    "nn.MSELoss",
    "nn.SmoothL1Loss",
    "nn.PReLU",
)


@pytest.mark.parametrize("every", sampled([4, 1], 2))
def test_what_the_module_level_takes_for_certain_is_refused(every: int) -> None:
    """In all of PyTorch's own samples of its modules."""
    require_judge()
    said = json.loads(_sweep("--modules", str(every)).stdout)
    assert said["false alarm"] == []
    assert [one for one in said["missed"] if not one.startswith(KNOWN_MISSES)] == []
    assert len(said["foretold"]) > 150 / every
    assert len(said["legal"]) > 150 / every


LEGAL = """\
import torch
from devlint_guard.watch.operators import OperatorMode
found = []
with OperatorMode(found.append):
    x = torch.ones(3, 3, device="cuda", requires_grad=True)
    y = (x * torch.tensor(2.0)).sum() + torch.tensor(1.0)
    y.backward()
    x.detach()[torch.tensor([0, 1])]
    x.detach()[0] = torch.zeros(3)
    torch.optim.Adam([torch.nn.Parameter(torch.ones(2, device="cuda"))]).step()
    torch.where(torch.tensor(True), x, torch.tensor(0.0))
    x.to("cpu").to("cuda:1").cpu()
    torch.nn.CTCLoss()(x.detach().log_softmax(1).unsqueeze(1), torch.tensor([[1]]), [3], [1])
assert not found, found
"""

FORETOLD = """\
import torch
from devlint_guard.watch.operators import OperatorMode
found = []
def record(finding):
    found.append((finding.code, finding.place.line))
x, y = torch.ones(3, 3, device="cuda"), torch.ones(3, 3)
with OperatorMode(record):
    for operation in (
        lambda: x + y,
        lambda: torch.cat([x, y]),
        lambda: y[torch.tensor([0], device="cuda")],
        lambda: x.to("cuda:1") @ x,
        lambda: torch.tensor(0.0).add_(x.sum()),
        lambda: torch.nn.functional.linear(x, y),
    ):
        try:
            operation()
        except RuntimeError:
            continue
        raise AssertionError("PyTorch has accepted it")
assert found == [("DEV101", 9), ("DEV101", 10), ("DEV104", 11), ("DEV101", 12), ("DEV101", 13), ("DEV101", 14)], found
"""


@pytest.mark.parametrize("program", [LEGAL, FORETOLD], ids=["legal", "foretold"])
def test_in_a_rehearsal(judge: Judge, program: str) -> None:
    verdict = judge.run(program)
    assert verdict.outcome == "ok", f"{verdict.message}\n{verdict.stdout}"


# --- nothing is changed -------------------------------------------------------------------------------------


def _train(network: nn.Module, x: Tensor) -> list[Tensor]:
    optimizer = torch.optim.AdamW(network.parameters())
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = network(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def _network() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.LSTM(8, 4, batch_first=True)), torch.randn(2, 3, 4)


class First(nn.Module):
    """The first of what another module returns."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> object:
        return self.inner(x)[0]


def test_training_is_the_same_bit_for_bit() -> None:
    network, x = _network()
    plain = _train(First(network), x)
    network, x = _network()
    with OperatorMode(stop):
        watched = _train(First(network), x)
    assert all(torch.equal(one, other) for one, other in zip(plain, watched, strict=True))


@since(2, 11)
def test_compiled_functions_stay_compiled() -> None:
    """One frame, no break and no recompilation, with the mode on, off and on again."""
    frames = []

    def backend(graph: Callable[..., object], inputs: list[Tensor]) -> object:
        frames.append(graph)
        return graph

    def compute(x: Tensor) -> Tensor:
        return x.sin() @ x.cos() + x.to(torch.float64).to(torch.float32)

    torch._dynamo.reset()
    compiled = torch.compile(compute, backend=backend, fullgraph=True)
    x = torch.ones(3, 3)
    with OperatorMode(stop):
        first = compiled(x)
    second = compiled(x)
    with OperatorMode(stop):
        third = compiled(x)
    assert len(frames) == 1
    assert torch.equal(first, second)
    assert torch.equal(first, third)


@since(2, 11)
def test_the_mode_itself_is_not_compiled() -> None:
    """In the eager parts of a function with a graph break, the frames of the mode are no frames to trace."""
    frames = []

    def backend(graph: Callable[..., object], inputs: list[Tensor]) -> object:
        frames.append(graph)
        return graph

    def compute(x: Tensor) -> Tensor:
        y = x.sin()
        torch._dynamo.graph_break()
        for part in [y, *map(torch.cos, [y])]:
            torch._dynamo.graph_break()
            y = y + part
        return y

    def count() -> int:
        frames.clear()
        torch._dynamo.reset()
        torch.compile(compute, backend=backend)(torch.ones(3))
        return len(frames)

    plain = count()
    with OperatorMode(stop):
        assert count() == plain


def test_a_default_device_goes_on_working() -> None:
    with OperatorMode(stop):
        with torch.device("meta"):
            assert nn.Linear(2, 2).weight.is_meta
        torch.set_default_device("meta")
        try:
            assert torch.ones(2).is_meta
        finally:
            torch.set_default_device(None)


@since(2, 11)
def test_operators_of_higher_order_and_traced_programs_work() -> None:
    x = torch.ones(2, 4)
    with OperatorMode(stop):
        exported = torch.export.export(nn.Linear(4, 2), (x,))
        traced = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x @ x.mT)(x)
        result = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
    assert exported.graph is not None
    assert traced is not None
    assert result.shape == x.shape


def test_subclasses_decide_for_themselves() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with OperatorMode(stop), FakeTensorMode() as fake:
        x = fake.from_tensor(torch.ones(2, 2))
        assert (x @ x).shape == (2, 2)
    with OperatorMode(stop):
        assert (x @ x).shape == (2, 2)


# --- nothing is left ----------------------------------------------------------------------------------------


def test_an_error_ends_the_mode() -> None:
    with pytest.raises(RuntimeError, match="shapes"), OperatorMode(stop):
        torch.ones(2, 3) @ torch.ones(2, 3)


def test_it_can_end_below_a_mode_that_was_entered_later() -> None:
    found: list[Finding] = []
    mode = OperatorMode(found.append)
    mode.install()
    with FlopCounterMode(display=False) as flops:
        mode.uninstall()
        torch.ones(2, 2) @ torch.ones(2, 2, device="meta")
        assert found == []
        torch.ones(2, 2) @ torch.ones(2, 2)
    assert flops.get_total_flops() >= 16


def test_another_thread_can_silence_it() -> None:
    found: list[Finding] = []
    ready, silenced = threading.Event(), threading.Event()
    modes: list[OperatorMode] = []

    def work() -> None:
        with OperatorMode(found.append) as mode:
            modes.append(mode)
            ready.set()
            silenced.wait(10)
            torch.ones(2, 2) @ torch.ones(2, 2, device="meta")

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    modes[0].uninstall()
    silenced.set()
    thread.join()
    assert found == []


def test_modes_nest_and_come_back() -> None:
    outer: list[Finding] = []
    inner: list[Finding] = []
    first = OperatorMode(outer.append)
    for _ in range(2):
        with first, OperatorMode(inner.append):
            torch.ones(2, 2) @ torch.ones(2, 2, device="meta")
    assert (len(outer), len(inner)) == (2, 2)


def test_nothing_slow_is_imported() -> None:
    """A dispatch mode of PyTorch's usual kind imports torch._dynamo, which takes seconds."""
    program = """\
import sys, torch
from devlint_guard.watch.operators import OperatorMode
with OperatorMode(print):
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
print("torch._dynamo" in sys.modules)
"""
    path = os.pathsep.join(map(str, ROOTS))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
