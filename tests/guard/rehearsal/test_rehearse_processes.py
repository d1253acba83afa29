"""Rehearsed programs of several processes: ranks, workers, commands; and a guard inside of a rehearsal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from devlint.cli import main
from devlint_guard.rehearsal.words import refusal

from tests.guard.processes import Ended, forked

OWN = """\
class Own(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs or dict())

def unjudged():
    torch.ones(2).cuda().as_subclass(Own) * 2
    return 1
"""

RANKS = """\
import os
import torch
from torch import distributed, nn

{own}
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
distributed.init_process_group("nccl")
net = {wrapped}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    net(torch.ones(2, 3).cuda() + {added}).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    total = torch.ones(1, device="cuda") * rank
    distributed.all_reduce(total)
    print(f"rank {{rank}} step {{step}}: {{next(net.parameters()).device}} {{total.item():.0f}}\\n", end="", flush=True)
distributed.destroy_process_group()
"""

DDP = "nn.parallel.DistributedDataParallel(nn.Linear(3, 3).cuda(), device_ids=[rank])"
FSDP = "__import__('torch.distributed.fsdp').distributed.fsdp.FullyShardedDataParallel(nn.Linear(3, 3).cuda())"
SHARDED = "__import__('torch.distributed.fsdp').distributed.fsdp.fully_shard(nn.Linear(3, 3).cuda())"

LOADER = """\
import sys
import torch
from torch.utils.data import DataLoader, Dataset

{own}
class Data(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        item = torch.ones(2, device={device!r})
        return {item}

if __name__ == "__main__":
    for batch in DataLoader(Data(), num_workers=1, multiprocessing_context=sys.argv[1]):
        print(batch.device, batch.cuda().device)
"""


def rehearse(folder: Path, program: str, *arguments: str) -> Ended:
    """Run `devlint rehearse --devices 2` on a program."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    # `python` is the Python of the tests, whether or not its environment is activated.
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    environment = {"OMP_NUM_THREADS": "1", "PATH": path}
    return forked(folder, main, ["devlint", "rehearse", "--devices", "2", *arguments], environment)


def ranks(folder: Path, program: str, *arguments: str) -> Ended:
    """Rehearse the launcher that `torchrun` is."""
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "program.py")
    return rehearse(folder, program, *arguments, *launcher)


def test_each_rank_of_torchrun_has_its_device_and_its_notes_come_back(tmp_path: Path) -> None:
    program = RANKS.format(own=OWN, wrapped=DDP, added="unjudged()")
    ended = ranks(tmp_path, program, "--steps", "3")
    assert sorted(line for line in ended.stdout.split("\n") if line.startswith("rank")) == [  # Gloo may say things too
        f"rank {rank} step {step}: cuda:{rank} 1" for rank in (0, 1) for step in (0, 1)
    ], ended.stderr
    assert ended.returncode == 3
    assert "program.py:11: mul.Tensor takes tensors of the class Own (in a child process)" in ended.stderr


@pytest.mark.long
def test_a_device_error_of_a_rank_decides_about_the_exit_code(tmp_path: Path) -> None:
    ended = ranks(tmp_path, RANKS.format(own=OWN, wrapped=DDP, added="torch.ones(3)"))
    assert ended.returncode == 1
    assert "devlint[rank 1]: DEV101" in ended.stderr
    assert "a child process of the program would raise" in ended.stderr


@pytest.mark.long
@pytest.mark.parametrize("wrapped", [DDP, FSDP, SHARDED], ids=["ddp", "fsdp", "fully_shard"])
def test_sharded_modules_run_on_all_ranks(tmp_path: Path, wrapped: str) -> None:
    ended = ranks(tmp_path, RANKS.format(own=OWN, wrapped=wrapped, added="1"))
    assert ended.returncode == 0, ended.stderr
    for rank in (0, 1):
        assert f"rank {rank} step 4: cuda:{rank} 1\n" in ended.stdout


def test_a_program_that_cannot_be_rehearsed_is_stopped_with_a_sentence(tmp_path: Path) -> None:
    program = """\
import torch
from torch.fx.experimental.proxy_tensor import make_fx

try:
    make_fx(lambda x: x + torch.ones(2, device="cuda"))(torch.ones(2).cuda())
except Exception:
    print("caught")
print("goes on")
"""
    ended = rehearse(tmp_path, program, "program.py")
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stderr
    assert "the rehearsal stopped" in ended.stderr
    assert "program.py:5: a rehearsal cannot run `make_fx` with a simulated GPU" in ended.stderr


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.long), "forkserver"])
@pytest.mark.parametrize(
    ("device", "item", "code", "said"),
    [
        ("cuda", "item", 0, "the program ran to its end"),
        ("cuda", "item + torch.ones(2)", 1, "found at least two devices, cuda:0 and cpu!"),
        ("cuda", "item.cpu() * unjudged()", 3, "program.py:11: mul.Tensor takes tensors of the class Own"),
    ],
    ids=["right", "wrong", "not-judged"],
)
def test_workers_take_part(tmp_path: Path, start: str, device: str, item: str, code: int, said: str) -> None:
    ended = rehearse(tmp_path, LOADER.format(own=OWN, device=device, item=item), "program.py", start)
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("[sys.executable, '-u', 'other.py', 'x']", "2 ['other.py', 'x']"),
        ("['python', '-W', 'ignore', '-m', 'other', 'x']", "2 ["),
        ("[sys.executable, '-c', 'import torch; print(torch.cuda.device_count())']", "0"),
    ],
)
def test_commands_of_the_same_python_are_rehearsed_too(tmp_path: Path, command: str, printed: str) -> None:
    (tmp_path / "other.py").write_text("import sys, torch; print(torch.cuda.device_count(), sys.argv)\n")
    ended = rehearse(tmp_path, f"import subprocess, sys; subprocess.run({command}, check=True)", "program.py")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(printed)


def test_a_guard_inside_of_a_rehearsal_sees_its_devices(tmp_path: Path) -> None:
    program = """\
import torch
from devlint_guard import guard

net = torch.nn.Linear(3, 3).cuda()
with guard(net, mode="record", ledger=True) as watched:
    net(torch.ones(2, 3).cuda()).cpu()
print([(one.by, one.direction.value) for one in watched.record().transfers], watched.findings)
with guard(net):
    net(torch.ones(2, 3))
"""
    ended = rehearse(tmp_path, program, "program.py")
    assert ended.stdout == "[('copy', 'device to host'), ('copy', 'host to device')] []\n", ended.stderr
    assert f"RuntimeError: {refusal('Expected all tensors to be on the same device')}" in ended.stderr
    assert ended.stderr.count("devlint: DEV102 input-not-on-module-device") == 1
    assert ended.returncode == 1
