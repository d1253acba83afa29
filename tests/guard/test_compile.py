"""Compiled modules: no graph break, no recompilation, no warning, whenever a guard begins or ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch._dynamo  # noqa: E402, F811
from devlint_guard import guard  # noqa: E402
from devlint_guard.watch import interpose  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from tests.conftest import since  # noqa: E402
from tests.guard.agreement import same  # noqa: E402


class Block(nn.Module):
    """Modules of torch and an own one, keyword arguments, and a loss whose lengths may be anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm(self.linear(input=x)) + x
        return x if mask is None else x * mask


class Network(nn.Module):
    """Some of them, one with a hook, as Dynamo inlines the whole of `__call__` then."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.last = nn.Linear(4, 4)
        self.last.register_forward_hook(_doubled)
        self.loss = nn.MSELoss()

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, mask=None)
        loss: Tensor = self.loss(self.last(x), torch.tensor(0.0).expand_as(x))
        return loss


def _doubled(module: nn.Module, args: object, output: Tensor) -> Tensor:
    return output * 2


@pytest.fixture(autouse=True)
def nothing_is_compiled_again() -> Iterator[None]:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(error_on_recompile=True):
        yield
    held = [torch._dynamo.utils, torch._dynamo.variables.nn_module]
    call = nn.Module.__call__
    assert all(getattr(one, "unpatched_nn_module_call", call) is call for one in held)  # not in torch 2.4


@pytest.fixture(params=["told", "untold"])
def dynamo(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether Dynamo takes the fast path for PyTorch's own `__call__`, or has to trace it."""
    if request.param == "untold":
        monkeypatch.setattr(interpose, "_tell_dynamo", lambda before, after: None)
    return str(request.param)


def _trained(compiled: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    loss = compiled(x)
    torch.autograd.backward(loss)
    return loss.detach()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("when", ["before", "after", "around"])
def test_one_graph_compiled_once(dynamo: str, when: str, backend: str, strict: bool) -> None:
    if dynamo == "untold" and when != "around":
        pytest.skip("where Dynamo traces the fast path, it compiles again when that comes or goes")
    network, x = Network(), torch.ones(2, 4)
    expected = network(x).detach()
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(network, backend=counter, fullgraph=True)
    results = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error")
        if when == "before":
            results.append(_trained(compiled, x))
        active = stack.enter_context(guard(network, strict=strict))
        results += [_trained(compiled, x), _trained(compiled, x)]
    if when != "around":
        results.append(_trained(compiled, x))
    assert active.findings == []
    assert counter.frame_count == 1
    assert all(same(result, expected) for result in results)


@pytest.mark.parametrize("guarding", [False, True])
def test_the_step_of_an_optimizer_is_compiled_once(guarding: bool) -> None:
    linear = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
    counter = CompileCounterWithBackend("eager")

    step = torch.compile(lambda: optimizer.step(), backend=counter)
    linear(torch.ones(2, 4)).sum().backward()
    with guard(linear) if guarding else contextlib.nullcontext():
        for _ in range(3):
            step()
    assert counter.frame_count == 1


def test_modules_that_rest_are_compiled_once(dynamo: str) -> None:
    network = Network()
    counter = CompileCounterWithBackend("eager")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    compiled = torch.compile(network, backend=counter, fullgraph=True)
    with guard(network) as active:
        for step in range(30):
            (network if step < 8 else compiled)(torch.ones(2, 4)).backward()
            optimizer.step()
        assert active.watching.known
    compiled(torch.ones(2, 4))
    assert counter.frame_count == 1


def test_the_boundary_of_a_compiled_region_is_watched() -> None:
    linear = torch.compile(nn.Linear(4, 4), backend="eager")
    active = guard(linear)
    with pytest.raises(Exception, match="device") as caught, active:
        linear(torch.ones(2, 4, device="meta"))
    assert [one.module for one in active.findings] == ["linear"]
    assert "devlint: DEV" in "".join(getattr(caught.value, "__notes__", [str(caught.value)]))


@since(2, 11)
def test_with_something_of_another_library_below(monkeypatch: pytest.MonkeyPatch) -> None:
    call = nn.Module.__call__
    monkeypatch.setattr(nn.Module, "__call__", lambda self, *args, **kwargs: call(self, *args, **kwargs))
    network, x = Network(), torch.ones(2, 4)
    expected = network(x).detach()
    with guard(network):
        assert same(_trained(torch.compile(network, backend="eager", fullgraph=True), x), expected)
    monkeypatch.undo()


PROGRAM = """
import torch
from torch import nn
from devlint_guard import guard

assert "torch._dynamo" not in __import__("sys").modules
call = nn.Module.__call__
linear = nn.Linear(4, 4)
with guard(linear):
    import torch._dynamo
    compiled = torch.compile(linear, backend="eager", fullgraph=True)
    compiled(torch.ones(2, 4))
torch._dynamo.config.error_on_recompile = True
compiled(torch.ones(2, 4))
assert nn.Module.__call__ is getattr(torch._dynamo.utils, "unpatched_nn_module_call", call) is call
torch.compile(lambda x: x + torch.tensor(1.0), backend="eager", fullgraph=True)(torch.ones(1))
"""


def test_dynamo_is_imported_while_a_guard_is_active() -> None:
    paths = os.pathsep.join(entry for entry in (str(Path(interpose.__file__).parents[1]), *sys.path) if entry)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_made_after_a_compilation_is_looked_at() -> None:
    """`torch.compile` gives the factories back, so none of them tells of the first tensor without data."""
    with guard(mode="record") as active:
        torch.compile(torch.relu, backend="eager")
        table = torch.ones(3, 3, device="meta")
        torch.ones(3, 3) @ table
    assert len(active.findings) == 1
