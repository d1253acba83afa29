"""`devlint run`: the program as Python would run it, a guard around it, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from devlint.cli import main
from devlint_guard import guard
from devlint_guard.errors import GuardUsageError
from devlint_guard.options import from_env, parse
from devlint_guard.requirement import is_full

from tests.guard.processes import Ended, forked, python, write

BROKEN = """\
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolve = nn.Conv2d(3, 4, 3, device="meta")
        self.rest = nn.Linear(6, 60)

    def forward(self, image):
        return self.rest(self.convolve(image))

if __name__ == "__main__":
    network = Network()
    network(torch.ones(1, 3, 8, 8))
    print("the end")
"""
"""PyTorch runs it to the end, on memory that nobody has written."""

FINE = "import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))\n"


def run(folder: Path, *arguments: str, guard: str = "") -> Ended:
    """Runs `devlint run`."""
    return forked(folder, main, ["devlint", "run", *arguments], {"DEVLINT_GUARD": guard})


NOTHING = "devlint: the guard saw nothing on a GPU, so this run cannot show a mistake with devices: try `{}`\n"


def without_hint(text: str) -> str:
    """What the program itself has written to standard error."""
    before, hint, after = text.partition(NOTHING.partition("{")[0])
    return before + after.partition("\n")[2] if hint else before


MEETING = {
    "x @ torch.ones(2, 2, device='meta')": "",
    "x @ x.to('meta')": "",
    "x @ nn.Linear(2, 2).to('meta').weight": "",
    "x @ made": "with torch.device('meta'): made = torch.ones(2, 2)",
    "x @ net.weight": "net = nn.Linear(2, 2, device='meta')",
    "with torch.inference_mode(): torch.mm(x, torch.ones(2, 2, device='meta'))": "",
}


@pytest.mark.parametrize("line", MEETING)
def test_operators_are_looked_at_once_tensors_can_be_apart(tmp_path: Path, line: str) -> None:
    lines = [
        "import torch; from torch import nn",
        "for number in range(1500): x = torch.ones(2, 2) / 2",
        f"assert torch._C._len_torch_dispatch_stack() == {0 if is_full() else 1}",
        MEETING[line],
    ]
    write(tmp_path / "program.py", "\n".join([*lines, line]))
    ended = run(tmp_path, "program.py")
    assert "line 5, in <module>" in ended.stderr
    assert "DeviceMismatchError" in ended.stderr


@pytest.mark.parametrize("mode", ["raise", "warn", "record"])
@pytest.mark.parametrize("as_module", [True, False], ids=["module", "script"])
def test_a_run_that_saw_no_gpu_says_so_and_names_a_rehearsal(tmp_path: Path, mode: str, *, as_module: bool) -> None:
    write(tmp_path / "program.py", FINE)
    program = ["-m", "program"] if as_module else ["program.py"]
    ended = run(tmp_path, "--guard-mode", mode, "--guard-report", "report.html", *program, "--name", "a b")
    assert (ended.returncode, ended.stderr) == (
        0,
        NOTHING.format(" ".join(["devlint rehearse", *program, "--name 'a b'"])),
    )
    assert 'verdict unknown">nothing on a GPU<' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_run_with_findings_speaks_of_them_alone(tmp_path: Path) -> None:
    write(tmp_path / "program.py", BROKEN)
    for mode in ("warn", "record"):
        assert "saw nothing" not in run(tmp_path, "--guard-mode", mode, "program.py").stderr


# --- the program is run as Python runs it -------------------------------------------------------------------

WORLD = """\
import json, sys, pickle
class Kept: ...
main = sys.modules["__main__"]
print(json.dumps([__name__, __file__, sys.argv, sys.path[0], __package__, main.__dict__ is globals(),
                  type(pickle.loads(pickle.dumps(Kept()))) is Kept, getattr(__spec__, "name", None)]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("folder/script.py", "--guard-mode", "warn", "--help", "--", "x"),
        ("--", "folder/script.py", "--guard-mode", "--", "x"),
        ("folder/script.py", "--"),
        ("folder", "--lr", "3"),
        ("-m", "package.inner", "-m", "x"),
        ("-m", "package"),
    ],
)
def test_a_program_sees_the_same_world_as_without_devlint(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    for file in ("folder/script.py", "folder/__main__.py", "package/inner.py", "package/__main__.py"):
        write(tmp_path / file, WORLD)
    write(tmp_path / "package" / "__init__.py", "")
    guarded, alone = run(tmp_path, *arguments), python(tmp_path, *arguments)
    assert alone.returncode == 0, alone.stderr
    assert (guarded.stdout, guarded.returncode, without_hint(guarded.stderr)) == (alone.stdout, 0, "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('so it ends')", 1),
        ("import sys; sys.exit()", 0),
        ("1 / 0", 1),
        ("x = (", 1),
    ],
)
def test_it_ends_as_without_devlint(tmp_path: Path, text: str, code: int) -> None:
    write(tmp_path / "script.py", text)
    guarded, alone = run(tmp_path, "script.py"), python(tmp_path, "script.py")
    assert (guarded.returncode, guarded.stdout, without_hint(guarded.stderr)) == (code, alone.stdout, alone.stderr)


@pytest.mark.parametrize("arguments", [("missing.py",), ("-m", "missing"), ("empty",), ("-m", "missing.inner")])
def test_what_cannot_be_run_is_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    ended = run(tmp_path, *arguments)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("error: ")
    assert arguments[-1] in ended.stderr


# --- the guard ----------------------------------------------------------------------------------------------


def test_by_default_the_first_finding_is_raised(tmp_path: Path) -> None:
    write(tmp_path / "train.py", BROKEN)
    ended = python(tmp_path, "-m", "devlint", "run", "train.py")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "DEV602 meta-tensor-in-computation" in ended.stderr
    assert "network.convolve" in ended.stderr
    assert "train.py:11 in Network.forward" in ended.stderr
    assert "launcher.py" not in ended.stderr


@pytest.mark.parametrize(
    ("text", "environment", "arguments", "code"),
    [
        (BROKEN, "", ("--guard-mode", "record"), 1),
        (BROKEN, "record,level=module", (), 1),
        (BROKEN, "off", ("--guard-mode", "record"), 1),
        (BROKEN, "record,allow=DEV602", (), 0),
        (FINE, "record", (), 0),
        (FINE + "raise SystemExit(5)\n", "record", (), 5),
    ],
)
def test_recording_disturbs_nothing_and_tells_by_the_exit_code(
    tmp_path: Path, text: str, environment: str, arguments: tuple[str, ...], code: int
) -> None:
    write(tmp_path / "train.py", text)
    ended = run(tmp_path, *arguments, "train.py", guard=environment)
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == ("the end\n" if text is BROKEN else "")
    assert ("devlint: 1 finding\n" in ended.stderr) == (code == 1)
    assert ("DEV602" in ended.stderr) == (code == 1)


def test_warnings_do_not_change_the_exit_code(tmp_path: Path) -> None:
    write(tmp_path / "train.py", BROKEN)
    ended = python(tmp_path, "-m", "devlint", "run", "--guard-mode", "warn", "train.py")
    assert (ended.returncode, ended.stdout) == (0, "the end\n")
    assert "DevlintWarning" in ended.stderr


@pytest.mark.parametrize(("environment", "arguments"), [("off", ()), ("raise", ("--guard-mode", "off"))])
def test_off_is_off(tmp_path: Path, environment: str, arguments: tuple[str, ...]) -> None:
    write(tmp_path / "train.py", BROKEN)
    ended = run(tmp_path, *arguments, "train.py", guard=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the end\n", "")


def test_an_error_of_pytorch_ends_the_program_with_its_explanation(tmp_path: Path) -> None:
    write(tmp_path / "train.py", "import torch\nrows = torch.ones(3)\nrows + torch.ones(3, device='meta')\n")
    ended = run(tmp_path, "--guard-level", "module", "train.py")
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        f'Traceback (most recent call last):\n  File "{tmp_path}/train.py", line 3, in <module>'
    )
    error, note = ended.stderr.split("\ndevlint: DEV602 ")
    assert "\nRuntimeError: Tensor on device " in error
    assert "train.py:3 in <module>" in note


def test_a_report_is_written(tmp_path: Path) -> None:
    write(tmp_path / "train.py", BROKEN)
    run(tmp_path, "--guard-report", "report.txt", "train.py", guard="record")
    assert "DEV602" in (tmp_path / "report.txt").read_text()


# --- the environment ----------------------------------------------------------------------------------------


def test_words_of_the_variable_are_options() -> None:
    assert parse("off") is None
    assert parse("record") == {"mode": "record"}
    assert parse("level=deep, ledger") == {"level": "deep", "ledger": True}
    assert parse("warn,first_steps=5,every=50,strict,expect=cuda:1,report=r.json,allow=DEV1,allow=*.x") == {
        "mode": "warn",
        "first_steps": 5,
        "every": 50,
        "strict": True,
        "expect": "cuda:1",
        "report": "r.json",
        "allow": ("DEV1", "*.x"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recrod", "no mode is called 'recrod'; did you mean 'record'?"),
        ("yes", "no mode is called 'yes'; there are raise, warn, record, off"),
        ("raise,levle=deep", "no option is called 'levle'; did you mean 'level'?"),
        ("raise,level=depe", "no level is called 'depe'; did you mean 'deep'?"),
        ("raise,first_steps=some", "'some' is no number of steps"),
        ("raise,level", "'level': level is given as level=…"),
        ("raise,ledger=1", "'ledger=1': ledger is given no value"),
        ("off,level=deep", "off goes with no other word"),
        ("raise,", "no option is called ''"),
    ],
)
def test_words_that_mean_nothing_are_errors(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(GuardUsageError) as caught:
        parse(text)
    assert str(caught.value).startswith(said)


def test_the_launcher_reports_them(tmp_path: Path) -> None:
    write(tmp_path / "train.py", FINE)
    ended = run(tmp_path, "train.py", guard="rise")
    assert (ended.returncode, ended.stderr) == (
        2,
        "error: DEVLINT_GUARD='rise': no mode is called 'rise'; did you mean 'raise'?\n",
    )


def test_a_program_can_ask_for_the_guard_that_the_environment_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("", "off"):
        monkeypatch.setenv("DEVLINT_GUARD", text)
        with from_env(mode="record") as nothing:
            assert nothing is None
    monkeypatch.setenv("DEVLINT_GUARD", "level=module")
    with from_env(mode="record") as active:
        assert isinstance(active, guard)
        assert (active.mode, active.level) == ("record", "module")
    monkeypatch.setenv("DEVLINT_GUARD", "warn")
    with from_env(mode="record") as active:
        assert active is not None
        assert active.mode == "warn"
