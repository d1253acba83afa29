"""The dispatch mode of a rehearsal is out while all tensors are on the CPU, and misses nothing."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from devlint_guard.rehearsal import available

from tests.judge import Judge

pytestmark = pytest.mark.skipif(bool(available()), reason=available())

PROGRAM = """\
import queue, threading
import torch
from torch import nn

def is_out():
    return torch._C._len_torch_dispatch_stack() == 0

def work(times=700):
    for number in range(times):
        row = torch.full((2, 2), float(number))
        row / 2
    return row

assert is_out()
x = work()
assert is_out()
{before}
x = work()
assert is_out()
{after}  # fails
"""

NET = "net = nn.Linear(2, 2).cuda(); weight = net.weight; part = weight.detach()[0]; lists = [part]"

FAILING = {
    "torch.ones(2, device='cuda') + x": "",
    "torch.tensor([1.0, 1.0], device='cuda') + x": "",
    "torch.ones(2, 2, device='meta').cuda()": "",
    "torch.ops.aten.ones.default([2], device='cuda') + x": "",
    "torch.ones_like(x, device='cuda') + x": "",
    "x.cuda() + x": "",
    "with torch.device('cuda'): torch.ones(2) + x": "",
    "torch.set_default_device('cuda'); torch.ones(2) + x": "",
    "torch.Generator('cuda'); torch.randn(2, generator=torch.Generator('cuda'))": "",
    "x.normal_(generator=torch.cuda.default_generators[0])": "",
    "torch.vmap(lambda one: one + torch.ones(2, device='cuda'))(x)": "",
    "torch.func.grad(lambda one: (one + torch.ones(2, device='cuda')).sum())(x)": "",
    "x.requires_grad_().register_hook(lambda one: one + one.cuda()); x.sum().backward()": "",
    "with torch.inference_mode(): x.cuda() + x": "",
    "torch.distributed.init_process_group('nccl'); torch.distributed.all_reduce(x)": "",
    "torch.cuda.FloatTensor(2, 2).add_(x)": "",
    "net(x)": NET,
    "weight + x": NET,
    "part * x[0]": NET,
    "torch.stack([x[0], *lists])": NET,
    "net.weight.data.add_(x)": NET,
    "nn.functional.linear(x, weight)": NET,
    "weight.numpy()": NET,
    "net.weight.grad = x": NET,
    "x @ weight": NET,
    "x.add_(part)": NET,
    "next(net.parameters()).sum() + x.sum().reshape(1)": NET,
    "torch.cat([x, *net.state_dict().values()])": NET,
    "work_in_thread(); results.get() + x": """\
results = queue.Queue()
def work_in_thread():
    threading.Thread(target=lambda: results.put(torch.ones(2, 2).cuda())).start()""",
    "work_in_thread(); results.get()[0] + x": NET
    + """
results = queue.Queue()
def work_in_thread():
    threading.Thread(target=lambda: results.put(weight)).start()""",
}


@pytest.mark.parametrize("after", FAILING)
def test_the_mode_wakes_before_tensors_can_be_apart(judge: Judge, after: str) -> None:
    code = PROGRAM.format(before=FAILING[after], after=after)
    verdict = judge.run(code, devices=2)
    failing = next(number for number, line in enumerate(code.splitlines(), start=1) if line.endswith("# fails"))
    assert (verdict.outcome, verdict.line) == ("device-error", failing), verdict


@pytest.mark.parametrize(
    "after",
    [
        "import copy; other = copy.deepcopy(net); assert type(other.weight) is nn.Parameter",
        "weight.sum(); assert type(weight) is nn.Parameter and type(part) is torch.Tensor",
        "net.cpu(); net(x)",
        "net(x.cuda()).sum().backward(); torch.optim.SGD(net.parameters()).step(); assert weight.grad.is_cuda",
        "assert isinstance(weight, nn.Parameter) and weight.is_cuda and str(part.device) == 'cuda:0'",
    ],
)
def test_tensors_are_what_they_were_once_the_mode_is_in(judge: Judge, after: str) -> None:
    verdict = judge.run(PROGRAM.format(before=NET, after=after), devices=2)
    assert verdict.outcome == "ok", verdict
