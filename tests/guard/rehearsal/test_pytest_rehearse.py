"""`pytest --devlint-rehearse=N`, run with real pytest."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.guard.processes import Ended, forked, write

pytest.importorskip("torch")

from devlint_guard.rehearsal.words import refusal

TESTS = """\
import unittest
import pytest
import torch

needs_two = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")

@needs_two
def test_right():
    assert str(torch.ones(2).to("cuda:1").device) == "cuda:1"

@needs_two
def test_wrong():
    scale = torch.ones(3)
    torch.ones(3).to("cuda:1") * scale

class Own(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs or {})

def test_own_class():
    torch.ones(2).cuda().as_subclass(Own) * 2
    torch.ones(2).cuda().as_subclass(Own) + 2

def test_other():
    assert torch.cuda.is_available() is False

def test_expected():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(3).cuda() + torch.ones(3)

def test_native():
    raise RuntimeError("PyTorch is not linked with support for cuda devices")  # as C++ does without a mode

@pytest.mark.skip
def test_skipped(): ...

@pytest.fixture
def placed():
    return torch.ones(2).cuda() + torch.ones(2)

def test_wrong_fixture(placed): ...

class TestOld(unittest.TestCase):
    def test_numpy(self):
        torch.ones(3).cuda().numpy()
"""


def run(folder: Path, *arguments: str) -> Ended:
    """Run pytest with this plugin alone."""
    options = ["-p", "devlint_pytest", "-p", "no:cacheprovider", "-c", "none.ini"]
    write(folder / "none.ini", "[pytest]\n")
    write(folder / "test_some.py", TESTS)
    return forked(
        folder, partial(pytest.main, [*options, *arguments]), ["pytest"], {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    )


def test_the_tests_of_a_project_run_on_gpus_that_are_not_there(tmp_path: Path) -> None:
    ended = run(tmp_path, "--devlint-rehearse=2")
    summary = ended.stdout.partition("devlint rehearsal on a simulated machine with 2 GPUs")[2]
    assert "2 passed, 3 would raise, 2 not checked, 1 failed for another reason" in summary, ended.stdout
    refused = refusal("Expected all tensors to be on the same device")
    assert f"test_some.py::test_wrong would raise RuntimeError: {refused}" in summary
    refused = refusal("can't convert cuda:0 device type")
    assert f"test_some.py::TestOld::test_numpy would raise TypeError: {refused}" in summary
    assert "test_some.py::test_own_class was not checked: " in summary
    assert "takes tensors of the class Own (and 1 more)\n" in summary
    assert summary.partition(" short test summary ")[0].count("\ntest_some.py::") == 3 + 2
    assert "test_some.py::test_native was not checked: " in summary
    assert "a rehearsal cannot run this on the CPU (PyTorch is not linked with support" in summary
    failure = ended.stdout.partition(" test_wrong ")[2].partition("____ ")[0]
    assert "found at least two devices, cuda:1 and cpu!" in failure
    assert "DEV101" in failure
    assert "`scale` is on cpu" in failure
    assert "operators.py" not in failure
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED


def test_a_machine_with_one_gpu_skips_what_needs_two(tmp_path: Path) -> None:
    ended = run(tmp_path, "--devlint-rehearse", "1", "-k", "right or wrong or expected")
    assert "1 passed, 1 would raise, 0 not checked\n" in ended.stdout, ended.stdout
    assert "2 skipped" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--devlint-rehearse=65",), "a rehearsal has 0 to 64 devices"),
        (("--devlint-rehearse=two",), "devices of the type two cannot be rehearsed"),
        (("--devlint-rehearse=mps:2",), "a rehearsal has 0 to 1 devices of the type mps"),
        (("--devlint-rehearse=2", "--devlint-guard"), "exclude each other"),
    ],
)
def test_wrong_usage_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = run(tmp_path, *arguments)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


NOTHING = "devlint saw nothing on a GPU, so these tests cannot show a mistake with devices"


@pytest.mark.parametrize(
    ("devices", "chosen", "said"), [(1, "other", True), (1, "own_class", False), (0, "other", False)]
)
def test_tests_that_put_nothing_on_a_gpu_are_told_of(tmp_path: Path, devices: int, chosen: str, *, said: bool) -> None:
    ended = run(tmp_path, f"--devlint-rehearse={devices}", "-k", chosen)
    assert (NOTHING in ended.stdout) is said, ended.stdout
