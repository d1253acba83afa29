r"""PyTorch as the judge of device errors, on a machine with any number of pretended CUDA devices.

    with Judge() as judge:
        verdict = judge.run("import torch\ntorch.ones(2).cuda() + torch.ones(2)")
        assert verdict.outcome == "device-error"
        assert verdict.line == 2

A program runs in a rehearsal (`devlint_guard.rehearsal`), which pretends the devices on any build of torch. Two other
machines can be asked for:

* `variant="cpuonly"`: the installed torch, which finds no device and pretends none.
* `lenient=True`: a rehearsal whose operators, and numpy, take tensors from several devices, so that a program with a
  device error computes what its author meant.

Where the judge works, `supported()` says.
"""

from __future__ import annotations

from tests.judge.client import Judge, JudgeError
from tests.judge.protocol import Outcome, Variant, Verdict
from tests.judge.support import require_judge, supported

__all__ = ["Judge", "JudgeError", "Outcome", "Variant", "Verdict", "require_judge", "supported"]
