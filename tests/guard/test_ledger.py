"""The transfer ledger, line by line; `test_gpu` holds its sums against the profiler of a real GPU.

In a rehearsal, a copy makes what `torch.tensor` makes on a device, and no copy shows that `tolist` makes one.
"""

from __future__ import annotations

import json
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import guard  # noqa: E402
from devlint_guard.report.record import Direction  # noqa: E402
from devlint_guard.watch.ledger import _REMEMBERED, _Entry, _Sum  # noqa: E402

from tests.judge import Judge  # noqa: E402

_DRIVER = """
import json
from devlint_guard import guard

with guard(mode="record", level="module", ledger=True) as watching:
    exec(compile(TEXT, "loop.py", "exec"), {"__name__": "__main__"})
said = [
    [one.place.line if one.place else 0, one.direction.value, one.by, one.count, one.bytes, one.waits, one.implicit]
    for one in watching.record().transfers
]
print("said:" + json.dumps(said))
"""

LOOP = """\
import torch
net = torch.nn.Linear(3, 2).to("cuda")
opt = torch.optim.AdamW(net.parameters())
table = torch.zeros(4, 2, device="cuda")
total = 0.0
for step in range(5):
    x, y = torch.ones(4, 3), torch.zeros(4, 2)
    x = x.to("cuda"); y = y.cuda(non_blocking=True)
    out = net(x)
    loss = (out - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss.item()
    shown = out.detach().mean(0).cpu()
    picked = out[torch.tensor([0, 1])]
    table[1:3] = torch.ones(2, 2)
    table[torch.tensor([0, 3]), 0] = torch.tensor(1.0, device="cuda")
    if loss > 100:
        break
    made = torch.tensor([1.0, 2.0], device="cuda")
    masked = out[torch.tensor([True, False, True, False])]
    there = out.nonzero()
    other = made.to("cuda:1")
    print(loss.tolist(), float(loss))
    same = x.to("cuda"), x.double(), made * torch.tensor(2.0)
"""


def _run(judge: Judge, text: str) -> list[list[Any]]:
    """What the ledger said."""
    verdict = judge.run(_DRIVER.replace("TEXT", repr(text)))
    assert verdict.outcome == "ok", f"{verdict.message}\n{verdict.stdout}"
    line = next(line for line in verdict.stdout.splitlines() if line.startswith("said:"))
    return sorted(json.loads(line.removeprefix("said:")))


def test_each_line_has_its_transfers(judge: Judge) -> None:
    said = _run(judge, LOOP)
    by_line = {(line, direction, by): (count, size) for line, direction, by, count, size, _, _ in said}
    up, down, wait = "host to device", "device to host", "synchronisation"
    assert by_line == {
        (2, up, "copy"): (2, 32),
        (8, up, "copy"): (10, 5 * (48 + 32)),
        (14, wait, "item()"): (5, 0),
        (15, down, "copy"): (5, 40),
        (16, up, "index"): (5, 80),
        (17, up, "copy_"): (5, 80),
        (18, up, "index"): (5, 80),
        (18, up, "copy"): (5, 20),
        (19, wait, "item()"): (5, 0),
        (21, up, "copy"): (5, 40),
        (22, up, "index"): (5, 80),
        (23, wait, "nonzero"): (5, 0),
        (24, "device to device", "copy"): (5, 40),
        (25, wait, "item()"): (5, 0),
    }


@pytest.mark.parametrize(
    ("line", "implicit", "waits"),
    [
        ("x.to('cuda')", False, 1),
        ("torch.ones(3, **up).to('cpu', non_blocking=True)", False, 1),
        ("torch.ones(3, **up)[torch.tensor([0])]", True, 1),
        ("torch.ones(3, **up)[mask]", True, 1),
        ("torch.ones(3, **up)[torch.ones(3, **up) > 0]", True, 1),
        ("torch.ones(3, **up)[0:1] = x[:1]", True, 1),
        ("torch.ones((), **up).item()", False, 1),
        ("torch.ones(3, **up).to('cuda:1')", False, 0),
    ],
)
def test_what_waits_and_what_nobody_asked_for(judge: Judge, line: str, implicit: bool, waits: int) -> None:
    said = _run(judge, f"import torch\nx, up, mask = torch.ones(3), {{'device': 'cuda'}}, torch.ones(3) > 0\n{line}")
    found = [rest for at, *rest in said if at == 3]
    assert [(waited, unasked) for _, _, _, _, waited, unasked in found] == [(waits, implicit)]


STEPS = """\
import torch
from torch import nn
from devlint_guard import guard

net = nn.Linear(3, 1).to("cuda")
optimizer = torch.optim.SGD(net.parameters())
table = torch.ones(4, 3)
with guard(mode="record", ledger=True) as active:
    for step in range(6):
        batch = torch.ones(4, 3).to("cuda")
        loss = net(batch + table.to("cuda")).sum()
        loss.backward()
        optimizer.step()
        if step % 2:
            print(loss)
        if step == 3:
            table += 1
            loss.item(), loss.item()
for one in active.record().transfers:
    steps = one.steps
    print("said:", one.place.line, one.by, one.count, one.same, steps.first, steps.last, steps.count, steps.most)
"""


def test_tensors_without_one_storage_are_copied_too() -> None:
    known = _Sum(0)
    rows = torch.eye(3).to_sparse()
    for _ in range(2):
        known.add(_Entry(Direction.TO_DEVICE, "copy", 4, True, False, (rows, torch.device("cuda"))), 0)
    assert (known.count, known.same) == (2, 0)


def test_a_tensor_that_is_remembered_is_not_kept_alive() -> None:
    known = _Sum(0)
    for number in range(3 * _REMEMBERED):
        source = torch.ones(number % 7 + 1)
        gone = weakref.ref(source)
        known.add(_Entry(Direction.TO_DEVICE, "copy", 4, True, False, (source, torch.device("cuda"))), number)
    del source
    assert gone() is None
    assert known.same == 1
    assert len(known._copies) <= _REMEMBERED


def test_transfers_by_step_and_copies_of_one_tensor(judge: Judge) -> None:
    verdict = judge.run(STEPS)
    assert verdict.outcome == "ok", verdict.message
    said = [line.split()[1:] for line in verdict.stdout.splitlines() if line.startswith("said:")]
    assert sorted(said) == [
        "10 copy 6 1 0 5 6 1".split(),
        "11 copy 6 4 0 5 6 1".split(),  # the table is changed after four copies
        "15 print 3 0 2 6 3 1".split(),
        "18 item() 2 0 4 4 1 2".split(),
    ]


def test_programs_on_the_host_transfer_nothing() -> None:
    with guard(mode="record", level="module", ledger=True) as watching:
        x = torch.ones(3, 3)
        x[torch.tensor([0])] = x[0].to(torch.float64).float()
        x.sum().item()
        x.nonzero()
        x.to("meta")
    assert watching.record().transfers == ()


def test_the_text_of_the_line_is_kept(judge: Judge) -> None:
    program = """\
import torch
from devlint_guard import guard
with guard(ledger=True) as watching:
    torch.ones(3).to("cuda")  # up it goes
(one,) = watching.record().transfers
assert one.source == 'torch.ones(3).to("cuda")  # up it goes', one
assert one.place.file == "prog.py", one
"""
    verdict = judge.run(program)
    assert verdict.outcome == "ok", verdict.message


PRINTS = """\
import torch
loss = torch.ones(3, device="cuda").sum()
for step in range(4):
    print(loss)
    shown = repr(loss), str(torch.ones(2))
before = torch._tensor_str._str
"""


def test_tensors_that_are_printed_are_waited_for(judge: Judge) -> None:
    said = _run(judge, PRINTS)
    printed = [(line, count, size, waits) for line, _, by, count, size, waits, _ in said if by == "print"]
    assert printed == [(4, 4, 16, 4), (5, 4, 16, 4)]
    before = torch._tensor_str._str
    with guard(ledger=True), guard(ledger=True):
        assert torch._tensor_str._str is not before
    assert torch._tensor_str._str is before
