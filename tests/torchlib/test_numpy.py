"""numpy functions that the stubs say need a tensor on the CPU: PyTorch refuses each of them a CUDA tensor."""

from __future__ import annotations

import pytest
from devlint.torchlib.catalogue import load

from tests.judge import Judge, require_judge

NAMES = sorted(name for name in load().names() if name.startswith("numpy."))
SEQUENCES = frozenset({"numpy.concatenate", "numpy.hstack", "numpy.stack", "numpy.vstack"})


@pytest.mark.parametrize("name", NAMES)
def test_a_cuda_tensor_is_refused_and_a_cpu_tensor_taken(judge: Judge, name: str) -> None:
    require_judge()
    more = ", 0" if name == "numpy.expand_dims" else ""
    value = "[t]" if name in SEQUENCES else "t"
    tensor = "torch.ones(2, 2)"
    program = f"import numpy, torch\nt = {tensor}{{move}}\n{name}({value}{more})"
    assert judge.run(program.format(move="")).outcome == "ok"
    verdict = judge.run(program.format(move=".cuda()"))
    assert (verdict.outcome, verdict.line) == ("device-error", 3)
