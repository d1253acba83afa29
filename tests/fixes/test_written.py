"""No fix puts a copy where something is written: the other operand comes, or nothing is offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.proof import Program, Proof, Result
from tests.judge import Judge

TEXT = """\
import torch
import torch.nn.functional as F
from torch import nn


class Store:
    def __init__(self):
        self.acc = {{"a": torch.zeros(3)}}

    def update(self, idx: torch.Tensor, v: torch.Tensor):
        {line}


def run():
    store = Store()
    index, values = torch.tensor([0, 2, 1], device="cuda"), torch.ones(3, device="cuda")
    store.update(index, values)
    return store
"""

WRITES = (
    'self.acc["a"].index_add_(0, idx, v.cpu())',
    'self.acc["a"].scatter_(0, idx, v.cpu())',
    'self.acc["a"].index_copy_(0, idx, v.cpu())',
    'self.acc["a"].add_(v)',
    'self.acc["a"].masked_fill_(v > 0, 1.0)',
    'self.acc["a"].lerp_(v, 0.5)',
    'self.acc["a"].mul_(0.9).add_(v)',
    'self.acc["a"].data.mul_(0.9).add_(v)',
    'self.acc["a"].copy_(v).add_(v)',
    'self.acc["a"].view(3).addcmul_(v, v)',
    'self.acc["a"] += v',
    'torch.add(v, 1, out=self.acc["a"])',
    'torch.maximum(self.acc["a"], v, out=self.acc["a"])',
)


@pytest.mark.parametrize("line", WRITES)
def test_what_is_written_is_kept(line: str, judge: Judge, tmp_path: Path) -> None:
    """PyTorch adds to the object that the program keeps, and to no copy of it."""
    folder = tmp_path / "program"
    folder.mkdir()
    text = TEXT.format(line=line).replace("idx: torch.Tensor, v: torch.Tensor", "idx, v")
    # Devices that are written down make the report certain without a caller that is followed.
    text = text.replace("        " + line, "        idx, v = idx.cuda(), v.cuda()\n        " + line)
    (folder / "store.py").write_text(text, encoding="utf-8")
    program = Program("store", folder, "store.py", "run", (1,))
    tried = list(Proof(judge, folder, tmp_path / "copy").try_fixes([program], codes=("DEV1",)))
    assert tried
    assert not any('self.acc["a"].to(' in (one.diagnostic.advice or "") for one in tried)
    assert {one.result for one in tried} <= {Result.MENDS, Result.FIRST_OF_SEVERAL}, [one.results for one in tried]


def test_a_name_that_is_written_later_is_given_no_copy(judge: Judge, tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "total.py").write_text(
        "import torch\n\n\ndef run():\n    total = torch.zeros(3)\n    v = torch.ones(3, device='cuda')\n"
        "    kept = total\n    mixed = total + v\n    total.add_(1)\n    return mixed, kept\n",
        encoding="utf-8",
    )
    program = Program("total", folder, "total.py", "run", (1,))
    (tried,) = Proof(judge, folder, tmp_path / "copy").try_fixes([program], codes=("DEV1",))
    assert tried.result is Result.MENDS, tried.results
