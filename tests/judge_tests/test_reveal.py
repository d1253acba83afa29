"""`reveal_device` returns its argument and tells a user or an observer where it is, whatever it is."""

from __future__ import annotations

import collections
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from devlint_guard import reveal, reveal_device  # noqa: E402

GUARD_ROOT = Path(reveal.__file__).resolve().parents[1]

Heard = list[tuple[str, str, int]]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """What an observer was told."""
    found: Heard = []

    def observer(text: str, filename: str, line: int) -> None:
        found.append((text, filename, line))

    reveal.observers.append(observer)
    yield found
    reveal.observers.remove(observer)


def _split_module() -> object:
    module = torch.nn.Linear(1, 1)
    module.register_buffer("scale", torch.ones(1, device="meta"))
    return module


def _holding_itself() -> list[object]:
    values: list[object] = [torch.ones(1)]
    values.append(values)
    return values


CASES = {
    "tensor": (lambda: torch.ones(1), "cpu"),
    "meta": (lambda: torch.ones(1, device="meta"), "meta"),
    "parameter": (lambda: torch.nn.Parameter(torch.ones(1)), "cpu"),
    "module": (lambda: torch.nn.Linear(1, 1), "cpu"),
    "split_module": (_split_module, "cpu and meta"),
    "buffer_only": (lambda: torch.nn.BatchNorm1d(1, affine=False), "cpu"),
    "empty_module": (torch.nn.ReLU, "no parameters"),
    "list": (lambda: [torch.ones(1), torch.ones(1, device="meta")], "[cpu, meta]"),
    "tuple": (lambda: (torch.ones(1), torch.ones(1)), "(cpu, cpu)"),
    "tuple_of_one": (lambda: (torch.ones(1),), "(cpu,)"),
    "nothing": (lambda: [(), {}], "[(), {}]"),
    "dict": (lambda: {"x": torch.ones(1), 2: [torch.ones(1)]}, "{'x': cpu, 2: [cpu]}"),
    "ordered": (lambda: collections.OrderedDict(x=torch.ones(1)), "{'x': cpu}"),
    "itself": (_holding_itself, "[cpu, ...]"),
    "device": (lambda: torch.device("cuda", 0), "cuda:0"),
    "device_type": (lambda: torch.device("cuda"), "cuda"),
    "number": (lambda: 1.0, "not a tensor"),
    "none": (lambda: None, "not a tensor"),
    "text": (lambda: "cpu", "not a tensor"),
}


@pytest.mark.parametrize("name", CASES)
def test_text(heard: Heard, name: str) -> None:
    """The text is in the notation of messages, and the value comes back."""
    make, text = CASES[name]
    value = make()

    assert reveal_device(value) is value
    assert [said for said, _, _ in heard] == [text]


def test_observer_hears_the_place(heard: Heard, capsys: pytest.CaptureFixture[str]) -> None:
    """With an observer nothing is printed, and the observer is told the caller's file and line."""
    reveal_device(torch.ones(1))
    line = sys._getframe().f_lineno - 1

    assert heard == [("cpu", __file__, line)]
    assert capsys.readouterr() == ("", "")


def test_prints_without_observer(capsys: pytest.CaptureFixture[str]) -> None:
    """A user sees one line on stderr."""
    reveal_device(torch.ones(1))
    line = sys._getframe().f_lineno - 1

    assert capsys.readouterr() == ("", f"{__file__}:{line}: cpu\n")


def test_import_needs_torch_and_the_standard_library_only() -> None:
    """No other installed package, and nothing of the linter, is loaded by it."""
    code = """\
import sys
import torch
before = {name.partition(".")[0] for name in sys.modules}
import devlint_guard
after = {name.partition(".")[0] for name in sys.modules}
print(sorted(after - before - sys.stdlib_module_names))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=GUARD_ROOT, capture_output=True, text=True, check=True)

    assert run.stdout == "['devlint_guard']\n"
