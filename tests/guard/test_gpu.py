"""What only a GPU can tell; skipped where there is none. `python -m tests.guard.test_gpu` runs it without pytest.

Each check prints its figures as a line of JSON. Those that need neither a profiler nor a clock also run in a rehearsal,
so that the file itself is known to work.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from devlint_guard.findings.explanation import explain  # noqa: E402
from devlint_guard.program.frames import user_frame  # noqa: E402
from devlint_guard.report.record import Direction, Transfer  # noqa: E402
from devlint_guard.session import Guard  # noqa: E402
from devlint_guard.watch.operators import Call, OperatorMode, Overload  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from tests.judge import require_judge  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
STEPS = 5

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

Figures = dict[str, Any]


def on_cuda(*shape: int) -> Tensor:
    made: Tensor = torch.ones(shape, device="cuda")
    return made


# --- the texts of PyTorch's errors --------------------------------------------------------------------------


def _add() -> object:
    return on_cuda(2) + torch.ones(2)


def _add_in_place() -> object:
    return torch.ones(2).add_(on_cuda(2))


def _product() -> object:
    return on_cuda(2, 2) @ torch.ones(2, 2)


def _cat() -> object:
    return torch.cat([on_cuda(2), torch.ones(2)])


def _linear() -> object:
    layer = nn.Linear(2, 2).to("cuda")
    return layer(torch.ones(1, 2))


def _convolution() -> object:
    layer = nn.Conv2d(1, 1, 1)
    return layer(on_cuda(1, 1, 2, 2))


def _embedding() -> object:
    layer = nn.Embedding(3, 2).to("cuda")
    return layer(torch.tensor([1]))


def _index() -> object:
    index = torch.tensor([0], device="cuda")
    return torch.ones(3)[index]


def _index_put() -> object:
    x = on_cuda(3)
    x[torch.tensor([0, 1])] = torch.ones(2)
    return x


def _mask() -> object:
    mask = torch.tensor([True, False])
    return on_cuda(2).masked_fill(mask, 0.0)


def _where() -> object:
    return torch.where(on_cuda(2) > 0, on_cuda(2), torch.ones(2))


def _loss() -> object:
    target = torch.tensor([0])
    return F.cross_entropy(on_cuda(1, 2), target)


def _hidden_state() -> object:
    layer = nn.LSTM(2, 2).to("cuda")
    state = (torch.zeros(1, 2), torch.zeros(1, 2))
    return layer(on_cuda(1, 2), state)


def _attention() -> object:
    key = torch.ones(1, 1, 2, 2)
    return F.scaled_dot_product_attention(on_cuda(1, 1, 2, 2), key, key)


def _normalisation() -> object:
    layer = nn.BatchNorm1d(2)
    return layer(on_cuda(3, 2))


def _numpy() -> object:
    return on_cuda(2).numpy()


def _generator() -> object:
    generator = torch.Generator()
    return torch.rand(2, device="cuda", generator=generator)


def _ordinal() -> object:
    return torch.ones(1, device="cuda:99")


def _gradient() -> object:
    x = on_cuda(2).requires_grad_()
    return x.backward(torch.ones(2))  # type: ignore[no-untyped-call]


ERRORS: tuple[Callable[[], object], ...] = (
    _add,
    _add_in_place,
    _product,
    _cat,
    _linear,
    _convolution,
    _embedding,
    _index,
    _index_put,
    _mask,
    _where,
    _loss,
    _hidden_state,
    _attention,
    _normalisation,
    _numpy,
    _generator,
    _ordinal,
    _gradient,
)


def error_texts() -> Figures:
    """Each of PyTorch's texts, and the code under which it is explained; None where it is not recognised."""
    return {program.__name__[1:]: _said(program) for program in ERRORS}


def _said(program: Callable[[], object]) -> list[str | None]:
    try:
        program()
    except Exception as error:
        finding = explain(error)
        return [None if finding is None else finding.code, f"{type(error).__name__}: {str(error).splitlines()[0]}"]
    return ["accepted", ""]


def check_error_texts() -> Figures:
    """PyTorch refuses each program, and each refusal is explained."""
    found = error_texts()
    assert {name: said for name, said in found.items() if said[0] in (None, "accepted")} == {}
    return found


# --- a training loop ----------------------------------------------------------------------------------------


def _network(width: int, depth: int) -> nn.Module:
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers).to("cuda")


def _step(network: nn.Module, batch: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(network.parameters())

    def step() -> None:
        optimizer.zero_grad()
        network(batch).square().mean().backward()
        optimizer.step()

    return step


def _wrong(finding: object) -> None:
    raise AssertionError(f"a finding in a program without a fault: {finding}")


def _variants(network: nn.Module) -> dict[str, AbstractContextManager[Any]]:
    return {
        "module level": Guard(network, level="module"),
        "adaptive": Guard(network),
        "operator level": Guard(network, level="deep"),
        "operator level and ledger": Guard(network, level="deep", ledger=True),
    }


def check_nothing_waits() -> Figures:
    """No layer makes the host wait: PyTorch raises at the first operation that would."""
    network = _network(64, 4)
    step = _step(network, on_cuda(16, 64))
    step()
    found = {}
    for name, variant in _variants(network).items():
        torch.cuda.set_sync_debug_mode("error")
        try:
            with variant:
                for _ in range(STEPS):
                    step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        found[name] = "no wait"
    return found


def check_calls_of_the_runtime() -> Figures:
    """The same calls of the CUDA runtime with and without the guard, as the profiler counts them."""
    network = _network(64, 4)
    step = _step(network, on_cuda(16, 64))
    step()
    _runtime_calls(step, contextlib.nullcontext())  # the profiler's own beginnings
    plain = _runtime_calls(step, contextlib.nullcontext())
    found: Figures = {"none": dict(plain)}
    for name, variant in _variants(network).items():
        found[name] = dict(_runtime_calls(step, variant))
        assert found[name] == found["none"], found
    return found


def _runtime_calls(step: Callable[[], None], context: AbstractContextManager[Any]) -> Counter[str]:
    def steps() -> None:
        for _ in range(STEPS):
            step()

    events = _trace(steps, context)
    names = [event["name"] for event in events if event.get("cat") == "cuda_runtime"]
    return Counter(name for name in names if "Synchronize" in name or "Memcpy" in name or "LaunchKernel" in name)


def _trace(work: Callable[[], None], context: AbstractContextManager[Any]) -> list[dict[str, Any]]:
    """What the profiler has recorded of some work, as the events of its trace."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        with context:
            work()
        torch.cuda.synchronize()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        events: list[dict[str, Any]] = json.loads(file.read_text())["traceEvents"]
    return events


# --- the ledger ---------------------------------------------------------------------------------------------


def _transfers() -> None:
    """A loop with each kind of copy whose bytes are known from the program."""
    table = on_cuda(4, 2)
    for _ in range(STEPS):
        x = torch.ones(64, 3).to("cuda")
        y = x.cpu()
        table[1:3] = torch.zeros(2, 2)
        table[torch.tensor([0, 1])]
        torch.tensor([1.0, 2.0], device="cuda")
        x.sum().item()
        y.sum().item()


EXPECTED = {
    "host to device": [4 * STEPS, STEPS * (64 * 3 * 4 + 16 + 16 + 8)],
    "device to host": [STEPS, STEPS * 64 * 3 * 4],
    "item()": [STEPS, 0],
}


def ledger_sums() -> dict[str, list[int]]:
    """How many transfers and bytes the ledger counts in that loop, in each direction."""
    sums: dict[str, list[int]] = {}
    for one in _ledger_of(_transfers):
        key = one.by if one.direction is Direction.NONE else one.direction.value
        count, size = sums.get(key, [0, 0])
        sums[key] = [count + one.count, size + one.bytes]
    return sums


def _ledger_of(program: Callable[[], None]) -> tuple[Transfer, ...]:
    with Guard(mode="record", level="module", ledger=True) as watching:
        program()
    return watching.record().transfers


def check_ledger() -> Figures:
    """The ledger's sums are those that the program has by its text."""
    sums = ledger_sums()
    assert sums == EXPECTED
    return {**sums}


def check_ledger_against_profiler() -> Figures:
    """They are also those of the copies that the device has made; a number that `item()` fetches is one more."""
    on_cuda(1).item()
    ledger = Guard(mode="record", level="module", ledger=True)
    copies: dict[str, list[int]] = {"host to device": [0, 0], "device to host": [0, 0]}
    for event in _trace(_transfers, ledger):
        if event.get("cat") == "gpu_memcpy" and "DtoD" not in event["name"]:
            sums = copies["host to device" if "HtoD" in event["name"] else "device to host"]
            sums[0] += 1
            sums[1] += event["args"]["bytes"]
    items = EXPECTED["item()"][0]
    count, size = EXPECTED["device to host"]
    expected = {"host to device": EXPECTED["host to device"], "device to host": [count + items, size + 4 * items]}
    assert copies == expected
    return {"profiler": copies, "ledger": {**expected, "item()": items}}


def check_waiting_lines() -> Figures:
    """Each line that PyTorch itself warns of is one that the ledger says to wait."""
    transfers = _ledger_of(_transfers)
    # Without the ledger: PyTorch warns at the innermost frame of Python, which is the mode's while there is one.
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            _transfers()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    code = _transfers.__code__
    theirs = {one.lineno for one in warned if "synchronizing" in str(one.message) and one.filename == code.co_filename}
    ours = {one.place.line for one in transfers if one.waits and one.place is not None}
    first = code.co_firstlineno
    assert theirs, "PyTorch has warned of nothing"
    assert theirs <= ours, sorted(line - first for line in theirs - ours)
    return {"only the ledger": sorted(line - first for line in ours - theirs), "both": len(ours & theirs)}


# --- threads, graphs, time ----------------------------------------------------------------------------------


def check_backward_is_seen() -> Figures:
    """Gradients are computed in a thread of the autograd engine, where the mode goes along."""
    import threading

    threads: set[int] = set()
    lines: list[int] = []

    class Watcher:
        def wants(self, overload: Overload) -> bool:
            return str(overload._schema.name) == "aten::mm"

        def saw(self, call: Call) -> None:
            threads.add(threading.get_ident())
            frame = user_frame(sys._getframe(), call.thread)
            lines.append(frame.f_lineno if frame else 0)

    x = on_cuda(2, 2).requires_grad_()
    with OperatorMode(_wrong, watcher=Watcher()):
        product = x @ x
        product.sum().backward()  # type: ignore[no-untyped-call]
    assert len(threads) == 2
    assert [line - lines[0] for line in lines] == [0, 1, 1]
    return {"threads": len(threads)}


def check_captured_graphs() -> Figures:
    """A CUDA graph can be captured under each layer of the guard, and replays what it has captured."""
    network, batch = _network(64, 2), on_cuda(4, 64)
    with torch.no_grad():
        expected = network(batch)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            network(batch)
        torch.cuda.current_stream().wait_stream(stream)
        for name, variant in _variants(network).items():
            graph = torch.cuda.CUDAGraph()
            with variant, torch.cuda.graph(graph):
                captured = network(batch)
            graph.replay()
            assert torch.allclose(captured, expected), name
    return {"captured under": list(_variants(network))}


def check_collectives() -> Figures:
    """Gradients that NCCL reduces, in threads and streams of its own, are those of a run without a guard."""
    backend = "nccl" if dist.is_nccl_available() else "gloo"
    store = dist.HashStore()  # type: ignore[attr-defined]  # it is there, and in no stub
    dist.init_process_group(backend, store=store, rank=0, world_size=1)
    try:
        network, batch = _network(64, 4), on_cuda(16, 64)
        replica = nn.parallel.DistributedDataParallel(network)
        expected = _gradients(replica, batch)
        for name, variant in _variants(replica).items():
            with variant as guard:
                found = _gradients(replica, batch)
            assert list(map(torch.equal, found, expected)) == [True] * len(expected), name
            assert not guard.findings, guard.findings
    finally:
        dist.destroy_process_group()
    return {"backend": backend, "gradients": len(expected)}


def _gradients(network: nn.Module, batch: Tensor) -> list[Tensor]:
    network.zero_grad()
    network(batch).square().mean().backward()
    dist.all_reduce(total := batch.clone())
    assert torch.equal(total, batch)
    return [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]


# --- the tests ----------------------------------------------------------------------------------------------

ANYWHERE = (check_error_texts, check_ledger, check_collectives)
"""The checks that a rehearsal can pass."""

CHECKS = (
    *ANYWHERE,
    check_backward_is_seen,
    check_nothing_waits,
    check_calls_of_the_runtime,
    check_ledger_against_profiler,
    check_waiting_lines,
    check_captured_graphs,
)


def _name(check: Callable[[], Figures]) -> str:
    return check.__name__.removeprefix("check_")


@needs_gpu
@pytest.mark.parametrize("check", CHECKS, ids=_name)
def test_on_a_gpu(check: Callable[[], Figures], capsys: pytest.CaptureFixture[str]) -> None:
    figures = check()
    with capsys.disabled():
        print(f"\n{json.dumps({_name(check): figures})}")


def test_the_checks_in_a_rehearsal() -> None:
    require_judge()
    folders = [str(REPOSITORY / "runtime_guard"), str(REPOSITORY)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.guard.test_gpu", "--rehearsed"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    figures = [line for line in done.stdout.splitlines() if line.startswith("{")]  # Gloo prints lines of its own
    assert [next(iter(json.loads(line))) for line in figures] == [_name(check) for check in ANYWHERE]


def main() -> int:
    """Runs the checks and prints the figures of each, or how it failed."""
    checks: tuple[Callable[[], Figures], ...] = CHECKS
    machine: AbstractContextManager[None] = contextlib.nullcontext()
    if "--rehearsed" in sys.argv[1:]:
        from devlint_guard.rehearsal import rehearse

        machine, checks = rehearse(4), ANYWHERE
    with machine:
        return max([_run(check) for check in checks])


def _run(check: Callable[[], Figures]) -> int:
    try:
        figures, failed = check(), 0
    except Exception as error:
        figures, failed = {"failed": f"{type(error).__name__}: {error}"}, 1
    print(json.dumps({_name(check): figures}), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
