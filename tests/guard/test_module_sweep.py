"""What the module level takes for certain, PyTorch refuses: in all of its own samples of its modules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import sampled
from tests.judge import Judge

KNOWN_MISSES = (
    "nn.Lazy",  # a hook makes the parameters on the first call, and may do more
    "nn.LinearCrossEntropyLoss",  # calls another module
    # what has no dimensions and is on the CPU is taken for a number, which goes with every device in most operators
    "nn.MSELoss",
    "nn.SmoothL1Loss",
    "nn.PReLU",
)


@pytest.mark.parametrize("every", sampled([4, 1], 2))
def test_what_is_certain_is_refused(judge: Judge, tmp_path: Path, every: int) -> None:
    file = tmp_path / "said.json"
    program = Path(__file__).with_name("module_sweep.py")
    verdict = judge.run(file=program, devices=1, argv=[str(file), str(every)], timeout=300, paths=[program.parents[2]])
    assert verdict.outcome == "ok", verdict
    said = json.loads(file.read_text())
    assert said["false alarm"] == []
    assert [one for one in said["missed"] if not one.startswith(KNOWN_MISSES)] == []
    assert len(said["named"]) > 150 / every
    assert len(said["right"]) > 150 / every
