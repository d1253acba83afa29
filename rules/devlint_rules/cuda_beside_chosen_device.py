"""cuda-beside-chosen-device: `.cuda()` ignores the device that the code has chosen."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import OtherChoice
from devlint.rule import OperationRule

from devlint_rules.support.messages import quoted


class CudaBesideChosenDevice(OperationRule):
    """
    ## What it does
    Reports `.cuda()` after a test of `torch.cuda.is_available()`, in a class or function that elsewhere moves to a
    device chosen before: `x.to(device)`, `x.to(settings.device)`. The rule is opt-in.

    ## Why is this bad
    The test chooses a second time. A user may have chosen the CPU on a machine with a GPU, or another GPU than the
    first. Then the rest of the program is on that device, and this value on the current GPU.

    ## Example

        import torch

        device = torch.device("cpu")  # on a machine with a GPU, by choice

        def score(weights: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            weights = weights.to(device)
            if torch.cuda.is_available():
                x = x.cuda()  # error: [cuda-beside-chosen-device] "device" later
            return x @ weights

        score(torch.ones(3, 2), torch.ones(2, 3))

    ## Use instead

        import torch

        device = torch.device("cpu")  # on a machine with a GPU, by choice

        def score(weights: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            weights = weights.to(device)
            x = x.to(device)
            return x @ weights

        score(torch.ones(3, 2), torch.ones(2, 3))

    ## Fix safety
    No fix is offered: the program has to say whether its device is meant for this value.

    ## Known limits
    devlint knows the device by its name, which ends in `device`. If the same test chose the device, the two agree, and
    the second test is only superfluous.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_mm)
    """  # noqa: E501

    code = "DEV307"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (OtherChoice,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the second choice at the node."""
        for found in self.facts_of(node, OtherChoice):
            self.report(
                node,
                f"`.cuda()` ignores {quoted(found.chosen)}, the device that the surrounding code uses",
                advice=f"use {quoted(f'.to({found.chosen})')}",
            )
