"""Jobs of several processes: real torchrun and gloo on two ranks of the CPU, with DDP and FSDP2 in the long run.

`test_distributed_modules` trains with these every time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from devlint.cli import main
from devlint_guard.errors import GuardUsageError
from devlint_guard.finding import Finding, Place
from devlint_guard.report.json import read, render
from devlint_guard.report.ranks import merge
from devlint_guard.report.record import Direction, Record, Transfer

from tests.guard.processes import Ended, forked, python, write

TRAIN = """\
import sys

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
dist.barrier()  # gloo fails where one rank has left before the other one is connected
rank = dist.get_rank()

def train(network):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(2):
        network(torch.ones(2, 8)).sum().backward()
        optimizer.step()

def stack():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))

if "--train" in sys.argv:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    train(DistributedDataParallel(stack()))
    train(fully_shard(stack(), mesh=init_device_mesh("cpu", (2,))))

if rank == 1:
    pixels = nn.Sequential(nn.Conv2d(3, 4, 3, device="meta"), nn.Flatten(), nn.Linear(144, 2))
    pixels(torch.ones(1, 3, 8, 8))
if "--stay" in sys.argv:
    dist.barrier()
if "--leave" in sys.argv:
    dist.destroy_process_group()
"""
"""Rank 1 alone has a convolution without data, which PyTorch runs without a word."""


def torchrun(folder: Path, *arguments: str) -> Ended:
    write(folder / "train.py", TRAIN)
    command = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "devlint", "run")
    return python(folder, *command, *arguments, OMP_NUM_THREADS="1")


@pytest.mark.parametrize(
    "options",
    [("--leave",), *(pytest.param(("--train", end), marks=pytest.mark.long) for end in ("--leave", "--keep"))],
    ids=" ".join,
)
def test_ranks_that_end_well_join_their_reports(tmp_path: Path, options: tuple[str, ...]) -> None:
    ended = torchrun(tmp_path, "--guard-mode", "record", "--guard-report", "report.json", "train.py", *options)
    assert ended.stderr.count("devlint[rank 1]: DEV602") == 1, ended.stderr
    assert ended.returncode != 0
    first, second, whole = (
        read((tmp_path / name).read_text()) for name in ("report.rank0.json", "report.rank1.json", "report.json")
    )
    assert (first.ranks, second.ranks, whole.ranks, whole.processes) == ((0,), (1,), (0, 1), 2)
    assert first.findings == ()
    assert [(one.code, one.ranks) for one in second.findings] == [("DEV602", (1,))]
    assert whole.findings == second.findings
    assert merge([second, first]) == whole


def test_a_rank_that_fails_ends_the_job_while_others_wait_at_a_barrier(tmp_path: Path) -> None:
    ended = torchrun(tmp_path, "--guard-report", "report.json", "train.py", "--stay")
    assert ended.returncode != 0
    assert "MetaTensorError: devlint[rank 1]: DEV602" in ended.stderr
    assert read((tmp_path / "report.rank1.json").read_text()).findings[0].ranks == (1,)
    assert not (tmp_path / "report.json").exists()


# --- joining ------------------------------------------------------------------------------------------------

PLACE = Place("train.py", 7)


def of_rank(rank: int, *findings: Finding, count: int = 1) -> Record:
    transfer = Transfer(PLACE, "x.cpu()", Direction.TO_HOST, "copy", count, 4 * count, count)
    return Record(
        "2.13.0",
        "3.11",
        (f"cuda:{rank}",),
        steps=rank,
        ranks=(rank,),
        processes=4,
        findings=findings,
        transfers=(transfer,),
    )


def test_what_several_ranks_have_found_is_one_finding() -> None:
    one = Finding("DEV102", "apart", PLACE, "network.layer", "Linear")
    records = [of_rank(3, Finding("DEV201", "lost"), one), of_rank(1, one, count=5), of_rank(0)]
    found = merge([replaced(record) for record in records])
    assert [(one.code, one.ranks, one.count) for one in found.findings] == [("DEV102", (1, 3), 2), ("DEV201", (3,), 1)]
    assert (found.ranks, found.processes, found.steps) == ((0, 1, 3), 4, 3)
    assert found.devices == ("cuda:0", "cuda:1", "cuda:3")
    assert [(one.count, one.bytes, one.waits) for one in found.transfers] == [(7, 28, 7)]


def replaced(record: Record) -> Record:
    """The record as its guard writes it: its findings are those of its rank."""
    data = json.loads(render(record))
    for finding in data["findings"]:
        finding["ranks"] = data["ranks"]
    return read(json.dumps(data))


def test_reports_of_one_rank_twice_are_no_job() -> None:
    with pytest.raises(GuardUsageError):
        merge([of_rank(1), of_rank(1)])


def test_files_are_joined_by_a_command(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path / f"r.rank{rank}.json", render(of_rank(rank)))
    arguments = ["devlint", "merge-reports", "r.rank0.json", "r.rank1.json", "--output"]
    assert forked(tmp_path, main, [*arguments, "r.json"], {}).returncode == 0
    assert read((tmp_path / "r.json").read_text()) == merge([of_rank(0), of_rank(1)])
    assert forked(tmp_path, main, [*arguments, "r.html"], {}).returncode == 0
    assert "ranks 0, 1 of 4" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("text", ["{}", "no report"])
def test_what_is_no_report_is_one_line(tmp_path: Path, text: str) -> None:
    write(tmp_path / "r.json", text)
    ended = forked(tmp_path, main, ["devlint", "merge-reports", "r.json", "--output", "all.json"], {})
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("error: no report of the guard")
