"""What PyTorch's own code runs or records: TorchScript, fake tensors, exported graphs, compiled code and DTensors."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import explain  # noqa: E402
from devlint_guard.rehearsal import available, rehearse  # noqa: E402
from devlint_guard.rehearsal.unjudged import UNJUDGED  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from tests.conftest import since  # noqa: E402

pytestmark = [
    pytest.mark.skipif(bool(available()), reason=available()),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

SPLIT = "found at least two devices, cuda:0 and cpu"
HERE = torch.ones(2, 4)


class Shifted(nn.Module):
    """Makes and moves tensors to where its input is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.shift = nn.Linear(4, 4), torch.ones(4)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.arange(x.shape[1], device=x.device) + torch.zeros(4).to(x)
        made: Tensor = self.layer(x) + self.shift.to(x.device) + y
        return made


def places(net: nn.Module) -> set[str]:
    return {str(one.grad.device) for one in net.parameters() if one.grad is not None}


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    with rehearse(devices=2):
        yield
        assert UNJUDGED.lines() == []


def again(module: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file, **options)


@pytest.mark.parametrize(
    ("saved", "options", "device"),
    [
        ("cpu", {"map_location": "cuda"}, "cuda:0"),
        ("cuda:1", {}, "cuda:1"),
        ("cuda", {"map_location": "cpu"}, "cpu"),
        ("cpu", {}, "cpu"),
    ],
)
def test_scripts_are_loaded_where_they_were_or_where_they_are_wanted(
    saved: str, options: dict[str, Any], device: str
) -> None:
    loaded = again(torch.jit.script(Shifted().to(saved)), **options)
    assert str(loaded.layer.weight.device) == device
    assert str(loaded(HERE.to(device)).device) == device
    other = "cpu" if device != "cpu" else "cuda"
    with pytest.raises(RuntimeError, match="same device"):
        loaded(HERE.to(other))


@pytest.mark.parametrize("traced", ["cpu", "cuda"])
def test_a_trace_keeps_the_devices_of_its_example(traced: str) -> None:
    loaded = again(torch.jit.trace(Shifted().to(traced), HERE.to(traced)), map_location="cuda")
    if traced == "cuda":
        assert loaded(HERE.cuda()).is_cuda
    else:
        with pytest.raises(RuntimeError, match=SPLIT) as refused:
            loaded(HERE.cuda())
        found = explain(refused.value)
        assert found is not None
        assert [step.place.function for step in found.operands[0].history if step.place] == [
            "forward",
            test_a_trace_keeps_the_devices_of_its_example.__name__,
        ]


@pytest.mark.parametrize("exported", ["cpu", "cuda"])
@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.long)])
def test_an_exported_graph_keeps_the_devices_of_its_example(exported: str, strict: bool) -> None:
    program = torch.export.export(Shifted().to(exported), (HERE.to(exported),), strict=strict).module()
    assert str(program(HERE.to(exported)).device).startswith(exported)
    if exported == "cpu":
        with pytest.raises((RuntimeError, AssertionError)):
            program.cuda()(HERE.cuda())


def test_pytorch_compares_the_devices_of_fake_tensors() -> None:
    real = HERE.cuda()
    with FakeTensorMode() as mode, torch.device("cuda"):
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
        labels = torch.zeros(2, dtype=torch.long)
        out = net(torch.ones(2, 4))
        loss: Any = nn.functional.cross_entropy(out, labels) + nn.functional.one_hot(labels, 4).sum()
        loss.backward()
        assert places(net) == {"cuda:0"}
        with pytest.raises(RuntimeError, match="cuda:0"):
            net(torch.ones(2, 4, device="cpu"))
        fake = mode.from_tensor(real)
        assert str(torch.func.hessian(lambda x: x.sin().sum())(fake).device) == "cuda:0"


def test_what_was_compiled_before_runs_as_eager_code() -> None:
    code = "import torch; run = torch.compile(lambda x: x * 2 + 1, backend='aot_eager', fullgraph=True)"
    program = f"""{code}; run(torch.ones(2))
from devlint_guard.rehearsal import rehearse
with rehearse():
    print(run(torch.ones(2).cuda()).device)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stdout == "cuda:0\n", ended.stderr


def test_what_an_operator_calls_is_judged() -> None:
    x = HERE.cuda()
    assert torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x, (x,)).is_cuda
    with pytest.raises(RuntimeError, match=SPLIT):
        torch.cond(x.sum() > 0, lambda x: x + torch.ones(4), lambda x: x, (x,))


@since(2, 10)
def test_dtensors_are_judged_by_their_parts(tmp_path: Path) -> None:
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard, distribute_tensor, randn
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    try:
        mesh = DeviceMesh("cuda", [0])
        sharded: Any = fully_shard(Shifted().cuda())
        for net in (sharded, parallelize_module(nn.Linear(4, 4), mesh, ColwiseParallel())):
            net(HERE.cuda()).sum().backward()
            assert places(net) == {"cuda:0"}
            with pytest.raises(RuntimeError, match=SPLIT):
                torch.ones(2, 4) + net(HERE.cuda())
        assert randn(4, device_mesh=mesh).is_cuda
        with pytest.raises(RuntimeError, match=SPLIT):
            distribute_tensor(HERE, mesh, [Shard(0)]).to_local() + HERE
        with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
            torch.distributed._functional_collectives.all_reduce(HERE, "sum", torch.distributed.group.WORLD)
    finally:
        torch.distributed.destroy_process_group()
