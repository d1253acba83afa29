"""visible-devices-conflict: CUDA_VISIBLE_DEVICES is set too late or hides a device."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import VisibilityConflict, VisibilityProblem
from devlint.rule import OperationRule

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import quoted, story

_NONE = "No CUDA GPUs are available"
_TOO_FEW = "CUDA error: invalid device ordinal"


class VisibleDevicesConflict(OperationRule):
    """
    ## What it does
    Reports `os.environ["CUDA_VISIBLE_DEVICES"] = …` after CUDA has read this variable, and a CUDA device that the
    program has hidden by this variable.

    ## Why is this bad
    CUDA reads the variable once, when it starts: with the first tensor on a device, and also with
    `torch.cuda.is_available()`. A later value changes nothing, so the program runs on GPUs that it should avoid. An
    early value numbers the devices anew: after `"2,3"`, these two are `cuda:0` and `cuda:1`.

    ## Example

        import os

        import torch

        os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
        x = torch.ones(3, device="cuda:2")  # error: [visible-devices-conflict] "cuda:2"

    ## Use instead

        import os

        import torch

        os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
        x = torch.ones(3, device="cuda:0")

    ## Fix safety
    No fix is offered: the author has to say which device was meant.

    ## Known limits
    The program must set the variable and start CUDA in the same function, in a function that it calls, or at the top of
    the file. devlint knows only literal values. It does not check a branch for more devices than the variable leaves.

    ## PyTorch says
    AcceleratorError: CUDA error: invalid device ordinal
    """

    code = "DEV305"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (VisibilityConflict,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"`CUDA_VISIBLE_DEVICES` hides what {quoted(broken.operation)} uses, or is set too late"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the conflicts with CUDA_VISIBLE_DEVICES at the node."""
        for conflict in self.facts_of(node, VisibilityConflict):
            if conflict.problem is VisibilityProblem.LATE:
                self.report(
                    node,
                    f"CUDA_VISIBLE_DEVICES is set to {quoted(conflict.text)} too late: CUDA has read it already",
                    related=story(conflict.related),
                    advice="set it before the program uses CUDA or checks for CUDA, or set it outside of the program",
                )
                continue
            needed, left = str(conflict.device), "hides all GPUs"
            advice = "list a GPU in CUDA_VISIBLE_DEVICES, or use the CPU"
            if conflict.visible:
                left, advice = _numbered(conflict.visible)
            elif needed == "cuda":
                needed = "a CUDA device"
            self.report(
                node,
                f"{quoted(conflict.text)} needs {needed}, but CUDA_VISIBLE_DEVICES {left}",
                related=story(conflict.related),
                pytorch=_TOO_FEW if conflict.visible else _NONE,
                advice=advice,
            )


def _numbered(visible: int) -> tuple[str, str]:
    """What the variable leaves, and the advice: the program numbers the visible devices from 0."""
    last = f"cuda:{visible - 1}"
    if visible == 1:
        return f"leaves one GPU, which PyTorch numbers {last}", f"use {last}"
    several = "cuda:0 and" if visible == 2 else "cuda:0 to"
    advice = f"use cuda:0 or {last}" if visible == 2 else f"use one of cuda:0 to {last}"
    return f"leaves {visible} GPUs, which PyTorch numbers {several} {last}", advice
