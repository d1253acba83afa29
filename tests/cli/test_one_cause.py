"""One tensor that several operations of a file need elsewhere: one report, whose notes name the other operations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint

CODE = """\
import torch

x = torch.ones(3, device="cuda:0")
mask = torch.ones(3)
other = torch.ones(3)
x + mask
x * mask
torch.where(mask > 0, other, x)
mask.numpy()
"""
SECOND: tuple[int, str, list[int]] = (7, "DEV101", [])
THIRD: tuple[int, str, list[int]] = (8, "DEV101", [])
COMMENT = "  # devlint: ignore[DEV101] checked by hand"
LABELS = """\
import torch

net = torch.nn.Linear(3, 3).to("cuda:0")
loader = torch.utils.data.DataLoader([(torch.ones(3), torch.tensor(0))])
for rows, labels in loader:
    scores = net(rows.to("cuda:0"))
    scores.argmax(1).eq(labels)
    torch.nn.functional.cross_entropy(scores, labels.long())
for rows, labels in loader:
    net(rows.to("cuda:0")).argmax(1).eq(labels)
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a program with two mistakes; one of them shows in several operations."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.py"
    path.write_text(CODE)
    return path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, ["check", "--isolated", "--select", "DEV1,DEV902", *arguments, "a.py"])


def _reports() -> list[tuple[int, str, list[int]]]:
    """The line and code of each report, and the lines of the operations that its notes name as of the same cause."""
    found = json.loads(_run("--output-format", "json").output)["diagnostics"]
    return [
        (
            one["line"],
            one["code"],
            [step["line"] for step in one["related"] if step["message"].startswith("the same cause")],
        )
        for one in found
    ]


def test_operations_with_one_cause_are_one_report() -> None:
    assert _reports() == [(6, "DEV101", [7]), THIRD]


def test_an_operation_with_a_second_tensor_is_a_report_of_its_own(program: Path) -> None:
    program.write_text(CODE.replace("where(mask > 0, other", "where(mask > 0, x"))
    assert _reports() == [(6, "DEV101", [7, 8])]


def test_a_rule_that_is_off_hides_no_cause() -> None:
    program = Path("a.py")
    program.write_text(CODE.replace("x + mask", "mask[torch.zeros(1, dtype=torch.long, device='cuda:0')]"))
    found = json.loads(_run("--ignore", "DEV104", "--output-format", "json").output)["diagnostics"]
    assert [one["line"] for one in found] == [7, 8]


def test_a_comment_at_the_first_operation_silences_the_cause(program: Path) -> None:
    program.write_text(CODE.replace("x + mask", f"x + mask{COMMENT}"))
    assert _reports() == [THIRD]


def test_comments_at_later_operations_silence_something(program: Path) -> None:
    program.write_text(CODE.replace("x + mask", f"x + mask{COMMENT}").replace("x * mask", f"x * mask{COMMENT}"))
    assert _reports() == [THIRD]


def test_a_comment_at_a_later_operation_leaves_the_first_report(program: Path) -> None:
    program.write_text(CODE.replace("x * mask", f"x * mask{COMMENT}"))
    assert _reports() == [(6, "DEV101", []), THIRD]


def test_comments_that_devlint_adds_leave_no_report() -> None:
    _run("--add-ignore", "looked at")
    assert _reports() == []


def test_a_report_names_so_many_operations(program: Path) -> None:
    program.write_text(CODE + "x - mask\n" * 7)
    (first, *_) = json.loads(_run("--output-format", "json").output)["diagnostics"]
    assert first["related"][-1]["message"].endswith("(4 more operations have this cause)")


def test_the_next_operation_is_reported_when_only_the_first_is_mended(program: Path) -> None:
    program.write_text(CODE.replace("x + mask", "x + mask.to(x.device)"))
    assert _reports() == [SECOND, THIRD]


def test_all_fixes_leave_no_report() -> None:
    _run("--fix", "--unsafe-fixes")
    assert _reports() == []


def test_each_loop_has_a_batch_of_its_own(program: Path) -> None:
    program.write_text(LABELS)
    assert _reports() == [(7, "DEV101", [8]), (10, "DEV101", [])]


def test_two_mistakes_that_calls_of_a_function_show_are_two_reports(program: Path) -> None:
    Path("lib.py").write_text(
        "import torch\n\n\ndef scaled(x):\n    steps = torch.arange(3)\n    y = x + steps\n"
        "    return y * torch.ones(3) + x.mul(steps)\n"
    )
    program.write_text('import torch\n\nfrom lib import scaled\n\nscaled(torch.ones(3, device="cuda:0"))\n')
    assert _reports() == [(6, "DEV101", []), (7, "DEV101", [])]


def test_fixes_of_one_operation_after_the_other_settle_all(program: Path) -> None:
    program.write_text(
        'import torch\n\nx = torch.ones(3, device="cuda:0")\ncopy = x.cpu()\nx + copy\nx * copy\ncopy.numpy()\n'
    )
    assert _reports() == [(5, "DEV101", [6])]
    _run("--fix")
    assert _reports() == []
    assert program.read_text().endswith("x + copy.to(x.device)\nx * copy.to(x.device)\ncopy.numpy()\n")
