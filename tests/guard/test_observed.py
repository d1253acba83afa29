"""The loop back to the linter: a program is recorded on pretended devices, then checked with what was observed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from click.testing import CliRunner, Result
from devlint.cli import devlint

from tests.guard.processes import write
from tests.judge import Judge

LAUNCH = """\
import os, sys
from devlint.cli import main
os.chdir(sys.argv[1])
sys.argv = ["devlint", "run", "--guard-mode", "record", "--guard-report", sys.argv[2], "train.py"]
try:
    main()
except SystemExit as ended:
    print(ended.code)
"""

GUARDED = """\
import os, sys
from devlint_guard import guard
folder, report = sys.argv[1:3]
os.chdir(folder)
text = open("train.py").read()
with guard(mode="record", report=report):
    exec(compile(text, os.path.abspath("train.py"), "exec"), {"__name__": "__main__"})
"""
"""For a process that says it is one of several: it must not wait for the others."""

TRAIN = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, table, bins):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.table = table
        self.bins = bins

    def forward(self, x, shifted=False):
        if shifted:
            x = x + self.table
        return self.fc(x)


def scores(logits, labels, counted):
    if counted:
        return (logits.argmax(-1) == labels).float()
    return logits.sum()


def step(net, batch, source):
    rows = source.rows()
    if source.strict:
        return batch["x"] * rows
    return scores(net(batch["x"]), batch["y"], False)


class Source:
    strict = False

    def rows(self):
        return torch.ones(2, 4)


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
net = Net(torch.ones(4), torch.ones(3)).to(device)
batch = {"x": torch.ones(2, 4, device=device), "y": torch.zeros(2, dtype=torch.long), "name": "a"}
for _ in range(3):
    step(net, batch, Source())
"""
"""It runs to its end; on the paths that it does not take, things from the CPU meet others from the GPU."""


def record(
    judge: Judge, folder: Path, text: str, *, report: str = "run.json", devices: int = 2, code: str = "0"
) -> None:
    """Records a program, which is `train.py` then."""
    write(folder / "train.py", text)
    verdict = judge.run(LAUNCH, argv=[str(folder), report], devices=devices)
    assert (verdict.outcome, verdict.stdout.splitlines()[-1]) == ("ok", code), verdict


def record_rank(judge: Judge, folder: Path, text: str, rank: int) -> None:
    """Records one of two processes of a job."""
    write(folder / "train.py", text)
    environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    verdict = judge.run(GUARDED, argv=[str(folder), "run.json"], devices=2, env=environment)
    assert verdict.outcome == "ok", verdict


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEVLINT_CACHE_DIR", str(tmp_path / ".cache"))


def check(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, ["check", "train.py", "--select", "DEV1", *arguments], prog_name="devlint")


def reported(*observed: str) -> list[tuple[int, str, str]]:
    """Line, code and message of what is reported."""
    options = [word for name in observed for word in ("--observed", name)]
    document = json.loads(check("--output-format", "json", *options).stdout)
    return [(one["line"], one["code"], one["message"]) for one in document["diagnostics"]]


def line_of(text: str, part: str) -> int:
    return 1 + next(number for number, line in enumerate(text.split("\n")) if part in line)


def test_paths_that_the_run_has_not_taken_are_checked_with_what_it_has_seen(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN)
    assert reported() == []
    found = reported("run.json")
    assert [(line, code) for line, code, _ in found] == [
        (line_of(TRAIN, "x + self.table"), "DEV101"),
        (line_of(TRAIN, "== labels"), "DEV101"),
        (line_of(TRAIN, "* rows"), "DEV101"),
    ]
    assert [message for _, _, message in found] == [
        "`x` is on cuda:0 and `self.table` on cpu: `+` needs both on the same device (observed at run time)",
        "`logits.argmax(-1)` is on cuda:0 and `labels` on cpu: `==` needs both on the same device "
        "(observed at run time)",
        '`batch["x"]` is on cuda:0 and `rows` on cpu: `*` needs both on the same device (observed at run time)',
    ]


def test_each_format_tells_that_it_was_observed(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN)
    ended = check("--observed", "run.json", "--fix", "--unsafe-fixes")
    assert ended.exit_code == 1
    assert "note: observed at run time: `self.table` is on cpu\n" in ended.stdout
    assert (tmp_path / "train.py").read_text() == TRAIN
    document = json.loads(check("--observed", "run.json", "--output-format", "json").stdout)
    first = document["diagnostics"][0]
    assert (first["certainty"], first["fix"]) == ("on-accelerator", None)
    assert [one["message"] for one in first["related"]] == [
        "observed at run time: `x` is on cuda:0",
        "observed at run time: `self.table` is on cpu",
    ]
    sarif = check("--observed", "run.json", "--output-format", "sarif").stdout
    assert "observed at run time: `self.table` is on cpu" in sarif


OBJECTS = """\
import torch

KINDS = {}


class Batch:
    def __init__(self, **values):
        self.__dict__.update(values)


KINDS["batch"] = Batch


def made(rows):
    return vars(torch)["ones"](rows)


def loss(scores, batch, parts, take):
    if take == 1:
        return scores * batch.mask
    if take == 2:
        return scores * parts[0].mask
    if take == 3:
        return scores * made(4)
    return scores * batch.weights * parts[0].weights


def run(batches, take):
    for batch in batches:
        if take == 4:
            batch.weights + batch.mask
        loss(batch.weights, batch, [batch], take)


made(4)
there = torch.ones(4, device="cuda:0" if torch.cuda.is_available() else "cpu")
run([KINDS["batch"](weights=there, mask=torch.ones(4))], 0)
"""


def test_attributes_of_objects_and_results_of_functions_are_observed(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, OBJECTS)
    assert reported() == []
    parts = ("scores * batch.mask", "scores * parts[0].mask", "scores * made(4)", "batch.weights + batch.mask")
    found = reported("run.json")
    assert [line for line, _, _ in found] == [line_of(OBJECTS, part) for part in parts]
    ended = check("--observed", "run.json")
    assert "observed at run time: the result of made() is on cpu" in ended.stdout
    assert "observed at run time: `parts[0].mask` is on cpu" in ended.stdout


def test_objects_that_may_have_changed_say_nothing(judge: Judge, tmp_path: Path) -> None:
    text = """\
        import torch

        class Batch:
            def __init__(self, **values):
                self.__dict__.update(values)

            def move(self, device):
                for name in list(vars(self)):
                    setattr(self, name, getattr(self, name).to(device))
                return self

        KINDS = {"batch": Batch}

        def make(kind, **values):
            return KINDS[kind](**values)

        def in_place(batch, there):
            if there.is_cuda and len(there) > 9:
                batch.move(there.device)
                return batch.x + there
            return there

        def one_by_one(batch, there):
            if len(there) > 9:
                for name in list(vars(batch)):
                    setattr(batch, name, getattr(batch, name).to(there.device))
                return batch.x + there
            return there

        def stored(batch, there):
            if len(there) > 9:
                batch.x = batch.x.to(there.device)
                return batch.x + there
            return there

        def later(batches, there):
            for batch in batches:
                if len(there) > 9:
                    batch.x + torch.ones(3)
                batch.move(there.device)

        def handed(move, batch, there):
            if len(there) > 9:
                move(batch)
                return batch.x + there
            return there

        def created(device):
            return vars(torch)["ones"](3, device=device)

        def elsewhere(there):
            if len(there) > 9:
                return created("cpu") + torch.ones(3)
            return created(there.device) + there

        there = torch.ones(3, device="cuda:0")
        for use in (in_place, one_by_one, stored):
            use(make("batch", x=torch.ones(3)), there)
        later([make("batch", x=torch.ones(3))], there)
        handed(lambda batch: batch.move("cuda:0"), make("batch", x=torch.ones(3)), there)
        elsewhere(there)
        """
    record(judge, tmp_path, text)
    assert [code for _, code, _ in reported()] == ["DEV114"]  # the result of `created` is unknown, as it is then
    assert reported("run.json") == reported()


def test_programs_that_are_right_are_so_with_what_was_seen_of_them(judge: Judge, tmp_path: Path) -> None:
    text = """\
        import torch

        def add(x, y, where, extra=None, rows=()):
            if not torch.cuda.is_available():
                return x + torch.ones(3)
            if x.device != y.device:
                y = y.to(x.device)
            if extra is not None:
                y = y + extra.to(where)
            for row in rows:
                y = y + row.to(y.device)
            return x + y + torch.tensor(1.0)

        def on_the_host(x):
            if x.is_cuda:
                return x
            return x + torch.ones(3)

        def replaced(batch):
            batch["y"] = batch["y"].cuda()
            return batch["x"] + batch["y"]

        def either(x):
            return x.cpu() + torch.ones(3), x.sum().item()

        cpu, gpu = torch.ones(3), torch.ones(3, device="cuda:0")
        add(gpu, gpu, "cuda:0")
        add(gpu, cpu, torch.device("cuda:0"), cpu, [cpu, gpu])
        on_the_host(gpu)
        replaced({"x": gpu, "y": cpu})
        either(gpu)
        either(cpu)
        """
    record(judge, tmp_path, text)
    assert reported() == []
    assert reported("run.json") == []


def test_what_was_seen_on_the_host_says_nothing_of_other_runs(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN, devices=0)
    assert reported("run.json") == []


def test_each_run_is_looked_at_by_itself(judge: Judge, tmp_path: Path) -> None:
    text = """\
        import torch

        def f(x, y, known):
            return x if known else x + y

        device = "cuda:0" if torch.cuda.is_available() else "cpu"
        f(torch.ones(3, device=device), torch.ones(3, device=device), True)
        """
    record(judge, tmp_path, text, report="gpu.json")
    record(judge, tmp_path, text, report="cpu.json", devices=0)
    assert reported("gpu.json", "cpu.json") == []
    other = text.replace("torch.ones(3, device=device), True", "torch.ones(3), True")
    record(judge, tmp_path, other, report="mixed.json")
    assert [code for _, code, _ in reported("gpu.json", "mixed.json")] == ["DEV101"]


def test_what_is_known_without_a_run_is_reported_with_one_too(judge: Judge, tmp_path: Path) -> None:
    text = """\
        import torch

        def f(x: torch.Tensor):
            if x.is_cuda:
                return x
            return x + torch.ones(3) @ torch.ones(3, 3, device="meta")

        f(torch.ones(3, device="cuda:0"))
        """
    record(judge, tmp_path, text)
    assert reported("run.json") == reported() != []


# --- sources that have changed ------------------------------------------------------------------------------


def test_functions_that_have_changed_are_told_and_ignored(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN)
    changed = "# One more line.\n" + TRAIN.replace("logits.sum()", "logits.mean()")
    write(tmp_path / "train.py", changed)
    ended = check("--observed", "run.json")
    assert "note: train.py: `scores` changed since run.json was recorded: ignored\n" in ended.stderr
    lines = [line for line, _, _ in reported("run.json")]
    assert lines == [line_of(changed, "x + self.table"), line_of(changed, "* rows")]


def test_a_run_in_another_folder_is_told(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN)
    report = json.loads((tmp_path / "run.json").read_text())
    run = report["observed"]["runs"][0]
    run["functions"] = [{**one, "file": "gone.py"} for one in run["functions"] if one["file"] == "train.py"]
    (tmp_path / "run.json").write_text(json.dumps(report))
    ended = check("--observed", "run.json")
    assert "note: run.json: its source files are not here; " in ended.stderr


def test_results_are_kept_for_each_observation(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN)
    assert len(reported("run.json")) == 3
    assert reported() == []
    report = json.loads((tmp_path / "run.json").read_text())
    report["observed"]["runs"][0]["functions"] = []
    (tmp_path / "run.json").write_text(json.dumps(report))
    assert reported("run.json") == []


def test_the_configuration_can_name_them(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, TRAIN)
    write(tmp_path / "devlint.toml", 'observed = ["run.json"]\n')
    assert len(reported()) == 3


# --- several processes --------------------------------------------------------------------------------------

RANKS = """\
import os
import torch

def step(x, y, also):
    if also:
        return x + y
    return x

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
step(torch.ones(3, device=device), torch.ones(3, device=OTHER), False)
"""


@pytest.mark.parametrize("files", [("whole.json",), ("run.rank1.json", "run.rank0.json")])
def test_each_process_may_have_a_device_of_its_own(judge: Judge, tmp_path: Path, files: tuple[str, ...]) -> None:
    for other in ("device", '"cuda:0"'):
        for rank in (0, 1):
            record_rank(judge, tmp_path, RANKS.replace("OTHER", other), rank)
        merge = ["merge-reports", "run.rank0.json", "run.rank1.json", "--output", "whole.json"]
        assert CliRunner().invoke(devlint, merge).exit_code == 0
        found = [message for _, _, message in reported(*files)]
        expected = "`x` is on cuda:1 and `y` on cuda:0: `+` needs both on the same device (observed at run time)"
        assert found == ([] if other == "device" else [expected])
    ended = check("--observed", files[0])
    assert "note: observed at run time by rank 1: `x` is on cuda:1\n" in ended.stdout


# --- mismatches that nobody has foreseen --------------------------------------------------------------------

CAUGHT = """\
import torch

functions = vars(torch)


try:
    functions["ones"](3, device="cuda:0") + torch.ones(3)
except RuntimeError:
    pass
"""
"""Nothing says to the linter what the first value is."""


def test_mismatches_of_the_run_that_nothing_tells_of_are_listed(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, CAUGHT, code="1")
    ended = check("--observed", "run.json")
    heading, row = ended.stdout.splitlines()
    assert heading == "1 mismatch met at run time and not reported above:"
    assert row.startswith("  train.py:7:5: DEV101 [mixed-device-operands] `torch.ones(3)` is on cpu and ")
    assert ended.exit_code == 0
    document = json.loads(check("--observed", "run.json", "--output-format", "json").stdout)
    assert [(one["code"], one["file"], one["line"]) for one in document["unforeseen"]] == [("DEV101", "train.py", 7)]
    other = check("--observed", "run.json", "--output-format", "github")
    assert (other.stdout, "1 mismatch met at run time" in other.stderr) == ("", True)


def test_mismatches_that_are_reported_are_not_listed(judge: Judge, tmp_path: Path) -> None:
    record(judge, tmp_path, CAUGHT.replace('functions["ones"]', "torch.ones"), code="1")
    ended = check("--observed", "run.json")
    assert "DEV101" in ended.stdout
    assert "met at run time" not in ended.stdout


# --- input that is none -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "error: run.json: cannot be read: No such file or directory\n"),
        ("{", "error: run.json:1: is not JSON: "),
        ("[]", "error: run.json: is no JSON report of the guard, as `devlint run` writes it\n"),
        ('{"version": 2}', "error: run.json: is a report of another version of the guard; record the program again\n"),
        (
            '{"version": 1, "findings": [], "observed": {"version": 9, "runs": []}}',
            "error: run.json: is a report of an",
        ),
        ('{"version": 1, "findings": [], "observed": {"version": 1, "runs": []}}', "error: run.json: holds no observ"),
        ('{"version": 1, "findings": [{}], "observed": {"version": 1, "runs": []}}', "error: run.json: is no JSON rep"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, text: str | None, said: str) -> None:
    write(tmp_path / "train.py", TRAIN)
    if text is not None:
        write(tmp_path / "run.json", text)
    ended = check("--observed", "run.json")
    assert ended.exit_code == 2
    assert ended.stderr.startswith(said), ended.stderr
    assert ended.stderr.count("\n") == 1
