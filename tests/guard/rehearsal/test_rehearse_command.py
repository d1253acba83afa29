"""`devlint rehearse`: a program on pretended GPUs, its exit codes, and what it says that it did not judge."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import sys
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch")

from devlint.cli import main
from devlint_guard.rehearsal.words import refusal
from devlint_guard.report.json import read, render

from tests.conftest import REPOSITORY
from tests.guard.processes import Ended, forked, write

TRAINING = """\
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.scale = torch.ones(2)

    def forward(self, x):
        return self.layer(x) * {scale}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    loss = net(torch.randn(3, 4).to(device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, loss.device, sys.argv[1:])
"""

RIGHT = TRAINING.format(scale="self.scale.to(x.device)")
WRONG = TRAINING.format(scale="self.scale")


def rehearse(folder: Path, program: str, *arguments: str) -> Ended:
    """Run `devlint rehearse` on a program; `PROGRAM` among the arguments stands for it, and it is their default."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    return forked(folder, main, ["devlint", "rehearse", *(arguments or ("program.py",))], {})


def test_a_right_program_runs_on_the_gpu_that_is_pretended(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, RIGHT)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("cuda:0") == 5
    assert "with 1 GPU: the program ran to its end (5 optimizer steps" in ended.stderr


def test_a_device_error_is_pytorchs_own_at_the_users_line_and_explained(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, WRONG)
    assert ended.returncode == 1
    assert "found at least two devices, cuda:0 and cpu!" in ended.stderr
    assert "devlint_guard" not in ended.stderr.partition("RuntimeError")[0]
    assert "DEV201" in ended.stderr
    assert 'self.register_buffer("scale"' in ended.stderr
    assert "the program would raise" in ended.stderr


def test_steps_end_the_program(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, RIGHT, "--steps", "2", "program.py")
    assert ended.returncode == 0, ended.stderr
    assert "step 0" in ended.stdout
    assert "step 2" not in ended.stdout
    assert "ended after 2 steps" in ended.stderr


@pytest.mark.long
def test_steps_end_spawned_processes_too(tmp_path: Path) -> None:
    program = """\
import torch

def work(rank):
    net = torch.nn.Linear(2, 2).to(rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(100):
        net(torch.ones(1, 2).to(rank)).sum().backward()
        optimizer.step()
        print(f"rank {rank} step {step} on {net.weight.device}", flush=True)

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=2)
"""
    ended = rehearse(tmp_path, program, "--devices", "2", "--steps", "3", "program.py")
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.split("\n"))[1:] == [
        f"rank {rank} step {step} on cuda:{rank}" for rank in (0, 1) for step in (0, 1)
    ]


ONE = "program.py"
OWN_CLASS = """\
import torch

class Own(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs or {})

product = torch.ones(2).cuda().as_subclass(Own) * 2
print((product + torch.ones(2).cuda()).device)
"""
COMPILED = """\
import torch

net = torch.compile(torch.nn.Linear(2, 2).cuda(), mode="max-autotune")

@torch.compile
def double(x):
    return net(x) * 2

print(double(torch.ones(1, 2).cuda()).device)
"""
ARGUMENTS = "import sys; print(sys.argv)"
NO_DEVICES = "import torch; print(torch.cuda.is_available()); torch.ones(2).cuda()"


@pytest.mark.parametrize(
    ("program", "arguments", "code", "printed", "said"),
    [
        (ARGUMENTS, (ONE, "--", "--epochs", "1"), 0, "['program.py', '--epochs', '1']\n", ""),
        (ARGUMENTS, (ONE, "--epochs", "1"), 0, "['program.py', '--epochs', '1']\n", ""),
        (
            "import torch; print(__name__, torch.cuda.device_count())",
            ("--devices", "3", "-m", "program"),
            0,
            "__main__ 3\n",
            "",
        ),
        ("raise ValueError('mine')", (ONE,), 4, "", "the program failed"),
        ("raise SystemExit(7)", (ONE,), 4, "", "the program ended with the exit code 7"),
        (OWN_CLASS, (ONE,), 3, "cuda:0\n", "program.py:8: mul.Tensor takes tensors of the class Own"),
        (COMPILED, (ONE,), 0, "cuda:0\n", "devlint: a rehearsal runs compiled functions and modules as eager code\n"),
        ("import torch\ntorch._dynamo.reset()\nprint('done')\n", (ONE,), 0, "done\n", ""),
        (NO_DEVICES, ("--devices", "0", ONE), 1, "False\n", "No CUDA GPUs are available"),
    ],
    ids=["dashes", "no dashes", "module", "error", "exit", "not judged", "compiled", "reset", "no devices"],
)
def test_a_program_ends_with_a_code_and_a_sentence(
    tmp_path: Path, program: str, arguments: tuple[str, ...], code: int, printed: str, said: str
) -> None:
    ended = rehearse(tmp_path, program, *arguments)
    assert (ended.returncode, ended.stdout) == (code, printed), ended.stderr
    assert not said or ended.stderr.count(said) == 1


def test_a_compiled_module_wraps_its_module(tmp_path: Path) -> None:
    program = """\
import torch

net = torch.nn.Linear(2, 2).cuda()
net.register_forward_hook(lambda module, inputs, output: print("called"))
compiled = torch.compile(fullgraph=True)(net)
assert torch.compile(net, disable=True) is net
assert compiled._orig_mod is net and compiled.weight is net.weight
print(*compiled.state_dict())
compiled.load_state_dict(compiled.cpu().cuda().state_dict())
compiled(torch.ones(1, 2))
"""
    ended = rehearse(tmp_path, program)
    assert (ended.returncode, ended.stdout) == (1, "_orig_mod.weight _orig_mod.bias\n"), ended.stderr
    assert "--> program.py:10" in ended.stderr
    assert "compiled._orig_mod (Linear)" in ended.stderr


def test_the_body_of_a_custom_operator_is_judged(tmp_path: Path) -> None:
    program = """\
import torch

@torch.library.custom_op("example::add", mutates_args=())
def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b.to({device}) + torch.zeros(2, device=a.device)

print(add(torch.ones(2).cuda(), torch.ones(2)).device)
"""
    ended = rehearse(tmp_path, program.format(device="a.device"))
    assert (ended.returncode, ended.stdout) == (0, "cuda:0\n"), ended.stderr
    ended = rehearse(tmp_path, program.format(device="'cpu'"))
    assert ended.returncode == 1
    assert "program.py:5 in add" in ended.stderr


def test_the_report_holds_the_result_and_what_the_guard_has_seen(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, WRONG, "--devices", "2", "--report", "report.json", "program.py")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    rehearsal = report["rehearsal"]
    assert rehearsal["outcome"] == "device-error"
    assert rehearsal["exit_code"] == ended.returncode == 1
    assert rehearsal["devices"] == 2
    assert report["program"]["script"] == "program.py"
    assert rehearsal["error"].startswith(f"RuntimeError: {refusal('Expected all tensors')}")
    assert [one["code"] for one in report["findings"]] == ["DEV201"]
    assert report["devices"] == [f"cuda:{index} (Pretended GPU)" for index in (0, 1)]
    assert render(read(json.dumps(report))) == (tmp_path / "report.json").read_text(encoding="utf-8")
    assert "devlint_guard" not in ended.stderr.partition("RuntimeError")[2]


def test_the_report_names_the_program_once_and_its_end(tmp_path: Path) -> None:
    program = """\
import torch
net = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
while True:
    net(torch.ones(1, 2).cuda()).sum().backward()
    optimizer.step()
"""
    rehearse(tmp_path, program, "--steps", "2", "--report", "report.html", "program.py", "--name", "some")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("program.py --name some") == 1
    assert "program.py --name some: ended by --steps 2 after" in page
    assert "the program was ended after 2 steps, so code behind them did not run" in page


def test_the_report_opens_as_a_page(tmp_path: Path) -> None:
    rehearse(tmp_path, WRONG, "--report", "report.html", "program.py")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<h1>devlint rehearsal <span class="verdict bad">1 finding' in page
    assert "On a simulated machine with 1 GPU: the program would raise" in page
    assert "unregistered-tensor-attribute" in page
    ended = rehearse(tmp_path, "raise SystemExit(7)", "--report", "report.html", "program.py")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ended.returncode == 4
    assert 'verdict bad">failed' in page
    assert "clean" not in page.partition("</header>")[0]


NOTHING = "; it put nothing on a simulated GPU, so this run cannot show a mistake with devices"
IN_CHILD = """\
import subprocess, sys, torch
if sys.argv[1:]:
    torch.ones(2).cuda()
else:
    subprocess.run([sys.executable, __file__, "child"], check=True)
"""


@pytest.mark.parametrize(
    ("program", "devices", "used"),
    [
        ("import torch\ntorch.ones(2) + 1\n", 1, False),
        ("import torch\ntorch.cuda.set_device(0)\ntorch.ones(2) + 1\n", 1, False),
        ("import torch\nx = torch.ones(2).cuda()\ndel x\n", 1, True),
        ("import torch\ntorch.sparse_coo_tensor([[0]], [1.0], device='cuda')\n", 1, True),
        (IN_CHILD, 1, True),
        ("import torch\ntorch.ones(2) + 1\n", 0, True),
    ],
    ids=["CPU alone", "CUDA started", "moved", "sparse", "moved in a child", "no device to use"],
)
def test_a_rehearsal_of_the_cpu_alone_says_so(tmp_path: Path, program: str, devices: int, *, used: bool) -> None:
    options = ("--devices", str(devices), "program.py")
    for form in ("json", "html"):
        ended = rehearse(tmp_path, program, "--report", f"report.{form}", *options)
        assert ended.returncode == 0, ended.stderr
        assert (NOTHING in ended.stderr) is not used
    assert json.loads((tmp_path / "report.json").read_text())["used_gpu"] is used
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ('verdict good">clean<' in page, NOTHING in page) == (used, not used)


@pytest.mark.parametrize(
    "arguments",
    [("missing.py",), ("--device-type", "hpu", "program.py"), ("--devices", "65", "program.py"), ("-m", "no.module")],
)
def test_wrong_usage_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = rehearse(tmp_path, RIGHT, *arguments)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.strip()


PAGE = (REPOSITORY / "runtime_guard/rehearsal.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"(?m)^(?: +- run: )?((?:devlint|pytest) .*)$", PAGE)))


def test_the_page_is_short_and_has_commands() -> None:
    assert len(PAGE.splitlines()) <= 180
    assert len(COMMANDS) >= 4


STAND_IN = PAGE.partition("## Without the data")[2].partition("```python\n")[2].partition("```")[0]
WITH_DATA = """\
import torch
from data import load_images
from torch.utils.data import DataLoader

loader = DataLoader(load_images("images"), batch_size=8)
print(len(loader), [pictures.cuda().device for pictures, kinds in loader])
"""


def test_a_stand_in_takes_the_place_of_the_data(tmp_path: Path) -> None:
    write(tmp_path / "data.py", "def load_images(folder): return open(f'{folder}/0.png')\n")
    write(tmp_path / "stand_in.py", STAND_IN)
    write(tmp_path / "train.py", WITH_DATA)
    ended = rehearse(tmp_path, "", "train.py")
    assert ended.returncode == 4
    assert "devlint: the program needs `images`, which is not there: provide it, or" in ended.stderr
    ended = rehearse(tmp_path, "", "--limit-batches", "2", "stand_in.py")
    assert (ended.returncode, ended.stdout.count("'cuda', index=0"), ended.stdout[:2]) == (0, 2, "2 "), ended.stderr


@pytest.mark.parametrize(
    ("program", "need"),
    [
        ("import no_such.module", "the module `no_such`, which is not installed"),
        (
            "try: {}['x']\nexcept KeyError as error: raise RuntimeError from FileNotFoundError(2, 'none', 'a.bin')",
            "`a.bin`",
        ),
        ("raise FileNotFoundError('a.bin not found.')", "a file"),
        ("import urllib.request\nurllib.request.urlopen('http://localhost:1')", "data that it cannot get here"),
        (
            "from torch.utils.data import *\nDataLoader([], shuffle=True)",
            "data that it cannot get here",
        ),
        ("from torch.utils.data import *\nDataLoader([1], batch_size=0)", None),
        ("try: open('absent')\nexcept OSError: raise ValueError", None),
        ("try: open('absent')\nexcept OSError: import torch\ntorch.ones(1) + torch.ones(1).cuda()", None),
    ],
)
def test_what_a_program_lacks_is_said_below_its_error(tmp_path: Path, program: str, need: str | None) -> None:
    said = re.search("devlint: the program needs (.*): provide it, or", rehearse(tmp_path, program).stderr)
    assert (None if said is None else said[1].partition(", which is not there")[0]) == need


LOADERS = """\
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(100))

class Counted(Stream):
    def __len__(self):
        return 100

def work(rank):
    images = TensorDataset(torch.arange(40))
    loaders = [
        DataLoader(images, batch_size=4, num_workers=2, persistent_workers=True),
        DataLoader(images, batch_size=None),
        DataLoader(images, batch_size=20, shuffle=True),
        DataLoader(Counted(), batch_size=10),
        DataLoader(Stream(), batch_size=10, num_workers=2),
    ]
    print([sum(1 for batch in one) for one in loaders for epoch in range(2)], *map(len, loaders[:4]), flush=True)

if __name__ == "__main__":
    work(0)
    torch.multiprocessing.spawn(work, nprocs=1)
"""


def test_each_loader_gives_the_first_batches_of_an_epoch(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, LOADERS, "--limit-batches", "3", "program.py")
    assert ended.stdout == "[3, 3, 3, 3, 2, 2, 3, 3, 3, 3] 3 3 2 3\n" * 2, ended.stderr
    ended = rehearse(tmp_path, LOADERS)
    assert ended.stdout.startswith("[10, 10, 40, 40, 2, 2, 10, 10, 20, 20] 10 40 2 10\n"), ended.stderr


def test_a_terminal_shows_the_steps_beside_what_the_program_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("print('dots', end='')", "optimizer.step()", "print('.')", "print('loss:', 0.5)", "optimizer.step()")
    program = "\n".join((RIGHT, *lines))
    output = bytearray()

    def read(terminal: int) -> bytes:
        output.extend(data := os.read(terminal, 65536))
        return data

    write(tmp_path / "program.py", program)
    monkeypatch.chdir(tmp_path)
    assert pty.spawn([sys.executable, "-m", "devlint", "rehearse", "program.py"], read) == 0
    shown = output.decode()
    assert "\rdevlint: step 5\x1b[K\r\x1b[Kstep 4 cuda:0 []\r\ndots.\r\nloss: 0.5\r\n" in shown
    assert "\rdevlint: step 7, loss 0.5\x1b[K\r\x1b[Kdevlint: rehearsed on" in shown
    assert "\r" not in rehearse(tmp_path, program).stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_page_runs(tmp_path: Path, command: str) -> None:
    write(tmp_path / "train.py", RIGHT)
    write(tmp_path / "package/train.py", RIGHT)
    write(tmp_path / "stand_in.py", STAND_IN)
    write(tmp_path / "data.py", "load_images = None\n")
    write(tmp_path / "test_some.py", "import torch\ndef test_device():\n    assert torch.ones(2).cuda().is_cuda\n")
    name, *arguments = shlex.split(command)
    if name == "pytest":
        arguments += ["-p", "devlint_pytest", "-p", "no:cacheprovider", "--rootdir", "."]
        run = partial(pytest.main, arguments)
        ended = forked(tmp_path, run, ["pytest"], {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        assert "1 passed, 0 would raise, 0 not checked" in ended.stdout, ended.stdout
    else:
        ended = forked(tmp_path, main, [name, *arguments], {})
        assert "the program " in ended.stderr
    assert ended.returncode == 0, ended.stderr


TWO_FIELDS = """
import torch
from torch import nn

def batch_to_dict(size, device):
    return {"x": torch.ones(size, 4), "mask": torch.ones(size, 2)}

net = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(9):
    given = batch_to_dict(3, "cuda")
    (net(given["x"]) * given["mask"]).sum().backward()
    optimizer.step()
    print("step", step)
"""

ASSERTED = """
import torch

def table():
    made = torch.ones(3)
    assert not made.is_cuda
    return made

x = torch.ones(3).cuda()
flags = table()
assert not (flags + 0).is_cuda, "the table stays on the CPU"
TEXT = "x + flags"
assert TEXT in open(__file__).read()
eval(TEXT, {"x": x, "flags": flags})
"""


def test_a_change_is_proposed_that_the_program_runs_on_with(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, TWO_FIELDS)
    assert ended.returncode == 1
    assert "devlint: trying " in ended.stderr
    assert "`--no-try` switches this off" in ended.stderr
    assert "the program then runs on" in ended.stderr
    changed = [line.strip()[2:] for line in ended.stderr.splitlines() if line.strip().startswith("+ ")]
    lines = [line for line in TWO_FIELDS.splitlines() if "return {" not in line]
    assert changed
    assert all("device" in line for line in changed)
    assert all(line not in lines for line in changed)
    assert "step 0" not in ended.stdout  # what a trial prints is not shown


def test_no_try_runs_the_program_once(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, "open('runs', 'a').write('x')\n" + TWO_FIELDS, "--no-try", "program.py")
    assert "trying" not in ended.stderr
    assert "tried" not in ended.stderr
    assert (tmp_path / "runs").read_text() == "x"


def test_a_trial_runs_the_program_again_in_its_folder(tmp_path: Path) -> None:
    rehearse(tmp_path, "open('runs', 'a').write('x')\n" + TWO_FIELDS)
    assert 2 <= len((tmp_path / "runs").read_text()) <= 11


def test_what_a_trial_refutes_is_not_printed(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, ASSERTED)
    assert ended.returncode == 1
    proposed = any(line.strip().startswith("+ ") for line in ended.stderr.splitlines())
    assert proposed is ("the program then runs" in ended.stderr)


def test_ranks_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    assert "trying" not in rehearse(tmp_path, TWO_FIELDS).stderr
