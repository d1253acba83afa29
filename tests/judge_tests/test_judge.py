"""The judge calls device errors by their kind and line, and working programs ok, on each machine."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.judge import Judge, Variant

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """A program after its first line, `import torch`, and the verdict it deserves: no kind means ok."""

    name: str
    program: str
    kind: str | None = None
    line: int | None = None
    devices: int = 4
    variant: Variant = "cuda"

    @property
    def code(self) -> str:
        return "import torch\n" + self.program.strip("\n") + "\n"


CASES = [
    Case("add", "g = torch.ones(2, device='cuda')\nt = torch.ones(2)\ng + t", "mixed", 4),
    Case(
        "scalar_is_exempt",
        "r = torch.ones(2, device='cuda:1') + torch.tensor(1.0)\nassert r.device.index == 1",
    ),
    Case("scalar_not_exempt", "torch.lerp(torch.tensor(0.0), torch.ones(2).cuda(), 0.5)", "mixed", 2),
    Case("two_cuda_devices", "torch.cat([torch.ones(2).cuda(0), torch.ones(2).cuda(1)])", "mixed", 2),
    Case("matmul", "a = torch.ones(2, 2)\na.cuda() @ a", "mixed", 3),
    Case("linear", "torch.nn.Linear(2, 2).cuda()(torch.ones(1, 2))", "mixed", 2),
    Case("convolution", "torch.nn.Conv1d(1, 1, 1)(torch.ones(1, 1, 4).cuda())", "mixed", 2),
    Case("lstm", "torch.nn.LSTM(2, 3)(torch.ones(4, 1, 2).cuda())", "mixed", 2),
    Case("lstm_trains", "net = torch.nn.LSTM(2, 3).cuda()\nnet(torch.ones(4, 1, 2).cuda())[0].sum().backward()"),
    Case("index", "torch.ones(3)[torch.tensor([0]).cuda()]", "mixed", 2),
    Case("cpu_index_is_fine", "assert torch.ones(3).cuda()[torch.tensor([0])].is_cuda"),
    Case("masked_fill", "torch.ones(3).cuda().masked_fill_(torch.ones(3) > 0, 1.0)", "mixed", 2),
    Case(
        "where_it_reaches",
        "def outer(t):\n    return inner(t)\ndef inner(t):\n    return t + torch.ones(2)\nouter(torch.ones(2).cuda())",
        "mixed",
        5,
    ),
    Case("numpy", "torch.ones(1).cuda().numpy()", "numpy", 2),
    Case("gradient", "p = torch.ones(1, requires_grad=True)\np.grad = torch.ones(1).cuda()", "grad", 3),
    Case("device_string", "torch.device('gpu')", "device-string", 2),
    Case("ordinal", "torch.ones(1, device='cuda:4')", "ordinal", 2),
    Case("ordinal_of_one", "torch.ones(1, device='cuda:1')", "ordinal", 2, devices=1),
    Case("one_device", "assert torch.cuda.device_count() == 1\ntorch.ones(1).cuda()", devices=1),
    Case("no_devices", "assert not torch.cuda.is_available()\ntorch.ones(1).cuda()", "no-cuda", 3, devices=0),
    Case("no_device_at_all", "torch.ones(1).cuda()", "no-cuda", 2, variant="cpuonly"),
    Case("no_device_works", "assert not torch.cuda.is_available()\ntorch.ones(1).sum()", variant="cpuonly"),
    Case("parallel", "net = torch.nn.DataParallel(torch.nn.Linear(2, 2))\nnet(torch.ones(8, 2))", "parallel", 3),
    Case(
        "parallel_works",
        "net = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())\nassert net(torch.ones(8, 2)).shape == (8, 2)",
    ),
    Case(
        "lengths_on_cuda",
        "from torch.nn.utils.rnn import pack_padded_sequence\n"
        "pack_padded_sequence(torch.ones(2, 1, 1).cuda(), torch.tensor([2]).cuda())",
        "cpu-required",
        3,
    ),
    Case("generator", "torch.rand(1, device='cuda', generator=torch.Generator())", "generator", 2),
    Case("cuda_generator", "torch.rand(1, device='cuda', generator=torch.Generator('cuda'))"),
    Case("meta", "torch.nn.Linear(1, 1, device='meta').cuda()", "meta", 2),
    Case(
        "collective",
        "import torch.distributed as d\nd.init_process_group('nccl')\nd.all_reduce(torch.ones(1))",
        "collective",
        4,
    ),
    Case(
        "fork",
        "torch.ones(1).cuda()\nclass Data(torch.utils.data.Dataset):\n    def __len__(self): return 1\n"
        "    def __getitem__(self, i): return torch.ones(1).cuda()\n"
        "list(torch.utils.data.DataLoader(Data(), num_workers=1))",
        "fork",
        5,
    ),
    Case("storage", "torch.ones(1).cuda().set_(torch.ones(1).untyped_storage())", "storage", 2),
    Case("copy_crosses", "t = torch.zeros(2)\nt.copy_(torch.ones(2).cuda(3))\nassert t.sum() == 2"),
    Case("legacy_type", "t = torch.ones(1).type(torch.cuda.FloatTensor)\nt + torch.ones(1)", "mixed", 3),
    Case("current_device", "torch.cuda.set_device(2)\nassert torch.ones(1, device='cuda').device.index == 2"),
    Case("values_are_right", "x = torch.arange(6.0).cuda()\nassert x.view(2, 3).sum(1).tolist() == [3.0, 12.0]"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict(judge: Judge, case: Case) -> None:
    """Outcome, kind and line are those that PyTorch gives on real devices."""
    verdict = judge.run(case.code, devices=case.devices, variant=case.variant)

    assert (verdict.kind, verdict.line) == (case.kind, case.line), verdict
    assert verdict.outcome == ("ok" if case.kind is None else "device-error"), verdict


def test_a_lenient_machine_computes_what_was_meant(judge: Judge) -> None:
    """Operators and numpy take tensors from several devices; an error that is none of a device stays."""
    code = """\
import numpy, torch
x, grown = torch.arange(4.0), torch.zeros(4, device="cuda")
grown += x
assert (x.cuda() + x).tolist() == [0.0, 2.0, 4.0, 6.0] == (grown + x.cuda(1)).tolist()
assert x.cuda()[torch.tensor([True, False, True, False]).cuda(1)].numpy().tolist() == [0.0, 2.0]
assert torch.nn.Linear(4, 2).cuda()(x).device.type == "cuda" and numpy.asarray(grown).sum() == 6
x.cuda() @ torch.ones(3)
"""
    verdict = judge.run(code, lenient=True)

    assert (verdict.outcome, verdict.line) == ("other-error", 7), verdict
    assert judge.run(code).line == 3


def test_other_errors_have_no_kind(judge: Judge) -> None:
    """An exception that devices have nothing to do with is told apart from a device error."""
    verdict = judge.run("import torch\ntorch.ones(2) @ torch.ones(3)")

    assert (verdict.outcome, verdict.kind, verdict.line) == ("other-error", None, 2)
    assert verdict.exception == "RuntimeError"
    assert judge.run("def f(:").outcome == "other-error"
    assert judge.run("raise SystemExit(3)").outcome == "other-error"
    assert judge.run("raise SystemExit(0)").outcome == "ok"


CALLED = """\
import torch


def helper(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones(2)


def bad_two_literals() -> None:
    helper(torch.ones(2, device="cuda"))


def ok_cpu() -> None:
    helper(torch.ones(2))


if __name__ == "__main__":
    raise SystemExit(1)
"""


def test_call_runs_one_function(judge: Judge) -> None:
    """Only the named function runs, and its lines make the stack."""
    verdict = judge.run(CALLED, call="bad_two_literals")

    assert (verdict.outcome, verdict.stack, verdict.line) == ("device-error", (9, 5), 5)
    assert judge.run(CALLED, call="ok_cpu").outcome == "ok"
    missing = judge.run(CALLED, call="no_such_function")
    assert (missing.outcome, missing.exception) == ("other-error", "AttributeError")


def test_file_and_paths_can_be_imported_from(judge: Judge, tmp_path: Path) -> None:
    """A program sees the files beside it and in `paths`, and lines of those are not in its stack."""
    (tmp_path / "beside.py").write_text("import torch\n\n\ndef add(x):\n    return x + torch.ones(2)\n")
    library = tmp_path / "library"
    library.mkdir()
    (library / "elsewhere.py").write_text("INDEX = 1\n")
    program = tmp_path / "program.py"
    program.write_text("import torch, beside, elsewhere\nbeside.add(torch.ones(2).cuda(elsewhere.INDEX))\n")

    verdict = judge.run(file=program, paths=[library])
    assert (verdict.outcome, verdict.stack, verdict.line) == ("device-error", (2,), 2)
    assert "cuda:1" in str(verdict.message)
    assert judge.run("import beside", file=program).outcome == "ok"
    assert judge.run(file=program).exception == "ModuleNotFoundError"


def test_program_has_its_own_package_named_tests(judge: Judge, tmp_path: Path) -> None:
    """The judge's own source files are out of a program's sight."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("MARK = 1\n")

    assert judge.run("import tests\nassert tests.MARK == 1", paths=[tmp_path]).outcome == "ok"
    assert judge.run("import tests").exception == "ModuleNotFoundError"


def test_revealed_devices(judge: Judge) -> None:
    """What `reveal_device` sees is recorded, up to the error that ends the program."""
    code = """\
import torch
from devlint_guard import reveal_device
for index in range(2):
    reveal_device(torch.ones(2, device=f"cuda:{index}"))
reveal_device([torch.ones(1)]) + 1
reveal_device(torch.ones(1))
"""

    verdict = judge.run(code)

    assert verdict.revealed == ((4, "cuda:0"), (4, "cuda:1"), (5, "[cpu]"))
    assert (verdict.outcome, verdict.line) == ("other-error", 5)


def test_environment_arguments_and_output(judge: Judge) -> None:
    """Programs get what they are given, and their output comes back."""
    code = "import os, sys, torch\nprint(sys.argv[1:], torch.cuda.device_count(), os.listdir())"
    verdict = judge.run(code, env={"CUDA_VISIBLE_DEVICES": "2,0"}, argv=["--fast"])

    assert verdict.stdout == "['--fast'] 2 ['prog.py']\n"
    assert judge.run("import os\nprint(os.environ.get('CUDA_VISIBLE_DEVICES'))").stdout == "None\n"


def test_programs_do_not_see_each_other(judge: Judge) -> None:
    """Each program starts in a fresh fork."""
    judge.run("import torch\ntorch.cuda.set_device(1)\ntorch.ones = None")

    assert judge.run("import torch\nassert torch.ones(1).cuda().device.index == 0").outcome == "ok"


def test_program_is_compiled_as_it_stands(judge: Judge) -> None:
    """The future statements of the judge's own files do not reach a program."""
    assert judge.run("def f(x: int): pass\nassert f.__annotations__ == {'x': int}").outcome == "ok"


def test_timeout_is_reported(judge: Judge) -> None:
    """A program that takes too long is killed, and what it printed so far is there."""
    start = time.monotonic()
    verdict = judge.run("import time\nprint('begun', flush=True)\ntime.sleep(60)", timeout=0.5)

    assert (verdict.outcome, verdict.line, verdict.stdout) == ("timeout", None, "begun\n")
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (f"os.kill(os.getpid(), {signal.SIGSEGV.value})", "SIGSEGV"),
        ("os._exit(7)", "exit code 7"),
    ],
)
def test_crash_is_reported(judge: Judge, ending: str, message: str) -> None:
    """A program that takes its process down is a crash, and the judge goes on."""
    verdict = judge.run(f"import os\n{ending}")

    assert verdict.outcome == "crash"
    assert message in str(verdict.message)
    assert judge.run("pass").outcome == "ok"


def test_forked_process_does_not_answer(judge: Judge) -> None:
    """A process that the program forks runs to the end, and the verdict is still the program's."""
    code = "import os\nif os.fork() == 0:\n    raise ValueError\nos.wait()\nraise KeyError"

    assert judge.run(code).exception == "KeyError"


def test_program_is_required(judge: Judge) -> None:
    """Neither text nor file is a mistake of the caller."""
    with pytest.raises(ValueError, match="code or a file"):
        judge.run()
