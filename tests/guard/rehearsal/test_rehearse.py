"""The context `rehearse`: what it pretends, that nothing stays, and how far it agrees with PyTorch."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard.errors import GuardUsageError  # noqa: E402
from devlint_guard.rehearsal import available, rehearse, words  # noqa: E402
from devlint_guard.rehearsal.unjudged import UNJUDGED, Stopped  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from tests.conftest import REPOSITORY, since  # noqa: E402
from tests.guard.rehearsal import sweep  # noqa: E402
from tests.guard.rehearsal.agreement import compare, unexpected  # noqa: E402
from tests.guard.rehearsal.answers import answer, asked  # noqa: E402
from tests.guard.rehearsal.cases import SOURCES, Said  # noqa: E402
from tests.judge import Judge  # noqa: E402

pytestmark = pytest.mark.skipif(bool(available()), reason=available())

PAGE = REPOSITORY / "runtime_guard/rehearsal.md"
FEW = 0.1
"""Programs that were written after the answers were frozen have none."""

SPLIT = "Expected all tensors to be on the same device"


def test_torch_is_as_it_was_afterwards() -> None:
    def state() -> list[tuple[str, int]]:
        owners: list[Any] = [torch, torch.cuda, torch.backends.cudnn, Tensor, torch.UntypedStorage]
        owners += [torch._C, torch.fft, torch.serialization, threading.Thread, torch.autograd]
        table = torch.jit._builtins._get_builtin_table()
        known = [(f"{owner}.{name}", id(value)) for owner in owners for name, value in vars(owner).items()]
        return [*known, *((name, number) for number, name in table.items())]

    with rehearse():  # what is loaded on the first use is loaded
        nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()).sum().backward()
    before = state()
    with rehearse(devices=2):
        kept = torch.ones(2).to("cuda:1")
        assert torch.cuda.device_count() == 2
    assert state() == before
    assert not torch.cuda.is_initialized()
    assert kept.device.type == "cpu"
    assert (kept + torch.ones(2)).tolist() == [2.0, 2.0]


def test_memory_that_is_shared_has_one_device() -> None:
    with rehearse(devices=2):
        x = torch.arange(6.0).cuda()
        parameter = nn.Parameter(x)
        for one in (x[0], x.view(2, 3).t(), x.data, parameter, parameter.detach(), copy.deepcopy(x), x.float(), x + 1):
            assert str(one.device) == "cuda:0"
        assert str(x.to("cuda:1").device) == "cuda:1"
        assert str(x.cpu().device) == "cpu"


def test_gradients_and_the_state_of_an_optimizer_are_where_the_parameters_are() -> None:
    with rehearse(devices=2):
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)).to("cuda:1")
        optimizer = torch.optim.Adam(net.parameters())
        start = torch.ones(5, 3, requires_grad=True)
        net(start.to("cuda:1")).sum().backward()
        optimizer.step()
        assert {str(one.grad.device) for one in net.parameters() if one.grad is not None} == {"cuda:1"}
        assert str(optimizer.state[net[0].weight]["exp_avg"].device) == "cuda:1"
        assert start.grad is not None
        assert str(start.grad.device) == "cpu"


def test_a_number_on_the_cpu_gets_its_gradient_there() -> None:
    with rehearse():
        scale = torch.tensor(2.0, requires_grad=True)
        (torch.ones(3).cuda() * scale).sum().backward()
        assert scale.grad is not None
        assert str(scale.grad.device) == "cpu"


def test_the_old_constructor_makes_tensors_of_the_default_type() -> None:
    with rehearse(2), torch.cuda.device(1):
        torch.set_default_tensor_type("torch.cuda.DoubleTensor")
        try:
            torch.set_default_device("cpu")
            x = torch.Tensor([1e10])
            made = [x, torch.Tensor(2, 3), torch.Tensor(x), nn.Parameter(torch.Tensor(2))]
            assert {(str(one.device), one.dtype) for one in made} == {("cuda:1", torch.float64)}
            assert torch.FloatTensor([1.0]).is_cpu
            torch.cat([x, torch.ones(1, device="cuda")])
            with pytest.raises(RuntimeError, match="legacy constructor expects device type: cuda"):
                torch.Tensor(2, device="cpu")
            with pytest.raises(TypeError, match=r"device=cuda.*device=cpu"):
                torch.Tensor(torch.ones(2, dtype=torch.float64))
        finally:
            torch.set_default_tensor_type("torch.FloatTensor")
        assert torch.Tensor(2).is_cpu


def test_a_checkpoint_keeps_devices_and_map_location_moves_them() -> None:
    file = io.BytesIO()
    with rehearse(devices=2):
        torch.save({"a": torch.ones(2).to("cuda:1"), "b": torch.ones(2)}, file)
        file.seek(0)
        loaded = torch.load(file)
        assert [str(one.device) for one in loaded.values()] == ["cuda:1", "cpu"]
        file.seek(0)
        assert str(torch.load(file, map_location="cpu")["a"].device) == "cpu"
    file.seek(0)
    with rehearse(devices=1), pytest.raises(RuntimeError, match=r"CUDA device 1 but torch.cuda.device_count\(\) is 1"):
        torch.load(file)


def test_threads_and_autocast_take_part() -> None:
    seen: list[str] = []

    def work() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            made = torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()
        seen.append(f"{made.device} {made.dtype}")

    with rehearse():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == ["cuda:0 torch.bfloat16"]


@contextlib.contextmanager
def switching_often() -> Iterator[None]:
    """While the body runs, Python switches threads fifty times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 50)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_threads_may_begin_to_autocast_at_once() -> None:
    ready, seen = threading.Barrier(2), []

    def work() -> None:
        ready.wait()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            seen.append((torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()).dtype)
            seen.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)

    with rehearse(), switching_often():
        _run(work)
    assert sorted(map(str, seen)) == ["torch.bfloat16"] * 2 + ["torch.float32"] * 2


def test_threads_may_make_many_tensors_at_once() -> None:
    seen = []

    def work() -> None:
        for _ in range(20_000):
            made = torch.empty(1, device="cuda")
        seen.append(str(made.device))

    with rehearse(), switching_often():
        _run(work)
    assert seen == ["cuda:0"] * 2


def _run(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def test_data_parallel_runs_on_all_devices() -> None:
    with rehearse(devices=2):
        net = nn.DataParallel(nn.Linear(4, 2).cuda())
        out = net(torch.ones(6, 4).cuda())
        assert (out.shape, str(out.device)) == ((6, 2), "cuda:0")
        out.sum().backward()
        assert net.module.weight.grad is not None
        assert str(net.module.weight.grad.device) == "cuda:0"


def _in_spawned(kept: Any, sent: Tensor, net: nn.Module) -> None:
    with torch.no_grad():
        next(net.parameters()).fill_(3.0)
    kept.put((torch.cuda.device_count(), str(torch.ones(2).cuda().device), str(sent.device)))


def test_a_spawned_process_has_the_same_machine_and_shares_tensors() -> None:
    with rehearse(devices=3):
        context = torch.multiprocessing.get_context("spawn")
        kept = context.SimpleQueue()
        net = nn.Linear(2, 2).to("cuda:1")
        net.share_memory()
        process = context.Process(target=_in_spawned, args=(kept, torch.ones(2).to("cuda:2"), net))
        process.start()
        process.join()
        assert process.exitcode == 0
        assert kept.get() == (3, "cuda:0", "cuda:2")
        assert str(net.weight.device) == "cuda:1"
        assert net.weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_gloo_stands_for_nccl_and_takes_what_nccl_takes(tmp_path: Path) -> None:
    with rehearse(devices=2):
        store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
        torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
        try:
            assert torch.distributed.get_backend() == "nccl"
            net = nn.parallel.DistributedDataParallel(nn.Linear(3, 2).to("cuda:1"), device_ids=[1])
            net(torch.ones(4, 3).to("cuda:1")).sum().backward()
            assert net.module.weight.grad is not None
            assert str(net.module.weight.grad.device) == "cuda:1"
            with pytest.raises(RuntimeError, match=SPLIT):
                torch.zeros(2) + net(torch.ones(4, 3).to("cuda:1"))
            torch.distributed.all_reduce(torch.ones(2).cuda())
            torch.distributed.all_gather_object([None], "an object")
            torch.distributed.all_reduce(torch.ones(2), group=torch.distributed.new_group(backend="gloo"))
            for group in (None, torch.distributed.new_group()):
                with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
                    torch.distributed.all_reduce(torch.ones(2), group=group)
        finally:
            torch.distributed.destroy_process_group()
    assert UNJUDGED.lines() == []


def test_sparse_and_nested_tensors_have_devices() -> None:
    indices, values = torch.tensor([[0, 1], [1, 0]]), torch.ones(2)
    with rehearse(devices=2):
        made = torch.sparse_coo_tensor(indices, values, (2, 2), device="cuda:1")
        of_values = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), values.cuda())
        of_parts = torch.sparse_coo_tensor(indices.cuda(), values.cuda(), (2, 2))
        ragged = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device="cuda")
        devices = (
            made,
            made.to_dense(),
            of_values,
            torch.eye(2).cuda().to_sparse(),
            of_parts.mT,
            of_parts[0],
            of_parts.t().to_dense(),
            ragged,
            ragged.to_padded_tensor(0.0),
        )
        assert [str(one.device) for one in devices] == ["cuda:1", "cuda:1", *["cuda:0"] * 7]
        assert str(torch.sparse.mm(made, torch.ones(2, 2, device="cuda:1")).device) == "cuda:1"
        for other in (torch.ones(2, 2), torch.ones(2, 2, device="cuda:0")):
            with pytest.raises(RuntimeError, match=SPLIT):
                torch.sparse.mm(made, other)
        with pytest.raises(RuntimeError, match=SPLIT):
            ragged + torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    assert UNJUDGED.lines() == []


@pytest.mark.parametrize(("own", "other"), [("cuda", "cpu"), ("cpu", "cuda"), ("cuda:0", "cuda:1")])
def test_kernels_compare_what_the_generated_check_leaves_out(own: str, other: str) -> None:
    with rehearse(2):
        data, lengths = torch.arange(4.0, device=own), torch.tensor([2, 2], device=other)
        with pytest.raises(RuntimeError, match="sorter and boundary tensors should have same device type"):
            torch.searchsorted(data, data, sorter=torch.arange(4, device=other))
        with pytest.raises(RuntimeError, match=r"data\.get_device\(\) == lengths_value\.get_device\(\)"):
            torch.segment_reduce(data, "sum", lengths=lengths)


def test_the_rank_of_a_matrix_without_elements_is_on_its_device() -> None:
    with rehearse():
        assert torch.linalg.matrix_rank(torch.ones(0, 3, device="cuda")).is_cuda


@since(2, 10)
def test_kernels_in_python_for_operators_of_pytorch_are_not_needed() -> None:
    def kernel(*args: Any) -> Any:
        raise AssertionError("there is no GPU")

    library = torch.library.Library("aten", "IMPL")
    library.impl("bmm", kernel, "CUDA", allow_override=True)
    try:
        with rehearse():
            assert str(torch.ones(2, 2, 1).cuda().bmm(torch.ones(2, 1, 2).cuda()).device) == "cuda:0"
            with pytest.raises(RuntimeError, match=SPLIT):
                torch.ones(2, 2, 1).cuda().bmm(torch.ones(2, 1, 2))
            assert torch.ones(2, 2, 1).bmm(torch.ones(2, 1, 2)).sum() == 8
    finally:
        library._destroy()


@pytest.mark.parametrize("backend", ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"])
def test_attention_runs_with_each_backend_of_a_gpu(backend: str) -> None:
    with rehearse(), sdpa_kernel(getattr(SDPBackend, backend)):
        x: Any = torch.ones(1, 2, 4, 4, device="cuda", requires_grad=True)
        torch.autograd.grad(nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5).sum(), x)
        assert not torch._C._get_math_sdp_enabled()
        with pytest.raises(RuntimeError, match=r"[Nn]o (viable|available)"):
            nn.functional.scaled_dot_product_attention(x.cpu(), x.cpu(), x.cpu(), dropout_p=0.5)


def test_an_operator_without_a_kernel_for_the_cpu_ends_the_program() -> None:
    with rehearse():
        x = torch.ones(4, 3, 2, device="cuda")
        with pytest.raises(NotImplementedError, match="from the 'CPU' backend"):
            torch.batch_norm_stats(x.cpu(), 1e-5)
        with pytest.raises(Stopped, match="batch_norm_stats"):
            torch.batch_norm_stats(x, 1e-5)


def test_another_release_gets_no_words_that_were_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_is_known", False)
    with rehearse(), pytest.raises(RuntimeError, match=r"^PyTorch would refuse: Expected all tensors"):
        torch.ones(2).cuda() + torch.ones(2)


@pytest.mark.parametrize("devices", [-1, 65])
def test_the_number_of_devices_has_limits(devices: int) -> None:
    with pytest.raises(GuardUsageError, match="0 to 64"), rehearse(devices):
        pass


def test_a_rehearsal_inside_another_is_refused() -> None:
    with rehearse(), pytest.raises(GuardUsageError, match="already"), rehearse():
        pass
    with rehearse():
        assert torch.cuda.is_available()


def test_the_examples_of_the_page_do_what_it_says() -> None:
    program, _, context = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with rehearse(), pytest.raises(RuntimeError, match=SPLIT):
        exec(compile(program, "program.py", "exec"), vars(ModuleType("program")))
    exec(compile(context, "context.py", "exec"), vars(ModuleType("context")))


@pytest.mark.parametrize(
    ("source", "every"),
    [
        ("semantics", 6),
        ("fixtures", 95),
        ("guard", 12),
        ("corners", 2),
        *(pytest.param(source, 1, marks=pytest.mark.long) for source in SOURCES),
    ],
)
def test_programs_are_judged_as_pytorch_judges_them(judge: Judge, source: str, every: int) -> None:
    found = list(compare(judge, list(SOURCES[source]())[::every]))
    assert any(one.answer is not None for one in found)
    assert unexpected(found) == []


OPERATORS = ["add", "addr", "index_put", "linalg.lstsq", "nn.functional.ctc_loss", "polar", "where"]
MODULES = ["nn.CTCLoss", "nn.GRU", "nn.Linear"]


@pytest.mark.skipif(
    torch.__version__.partition("+")[0] != sweep.release(), reason="the answers are for the samples of another torch"
)
@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("operators", OPERATORS),
        ("modules", MODULES),
        pytest.param("operators", [], marks=pytest.mark.long),
        pytest.param("modules", [], marks=pytest.mark.long),
    ],
)
def test_samples_of_pytorch_end_as_frozen(what: str, names: list[str]) -> None:
    found = list(sweep.sweep(what, names))
    assert {one.subject for one in found} >= set(names)
    assert any("d" in one.kinds for one in found)
    assert sweep.unexpected(what, found) == []


def test_few_programs_have_no_answer() -> None:
    answers = [answer(asked(case, Said("ok"))[0]) for cases in SOURCES.values() for case in cases()]
    assert answers.count(None) < FEW * len(answers)


def test_each_known_difference_has_a_reason() -> None:
    text = (Path(__file__).parent / "differences.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert rows
    assert all(row["why"] for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
