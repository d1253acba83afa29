"""loop-invariant-transfer: a loop copies the same tensor in each step."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import LoopInvariantTransfer as LoopInvariantTransferFact
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, quoted


class LoopInvariantTransfer(OperationRule):
    """
    ## What it does
    Reports `x.to(device)` in a loop that changes neither `x` nor `device`. The rule is opt-in.

    ## Why is this bad
    Each step copies the tensor again, and the host waits for the copy.

    ## Example

        import torch

        weights = torch.ones(4)
        for step in range(3):
            batch = torch.randn(8, 4, device="cuda")
            batch * weights.to("cuda")  # error: [loop-invariant-transfer] "`weights`" never

    ## Use instead

        import torch

        weights = torch.ones(4).to("cuda")
        for step in range(3):
            batch = torch.randn(8, 4, device="cuda")
            batch * weights

    ## Fix safety
    No fix is offered: other code may need the copy on the CPU.

    ## Known limits
    The tensor must have a name: a call may change attributes such as `self.weights`, so devlint does not report them. A
    loop counts as changing a tensor if it assigns to elements of the tensor, or calls an in-place method on it, such as
    `x.add_(1)`.

    ## PyTorch says
    Nothing: the result is the same, and comes later.
    """

    code = "DEV503"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (LoopInvariantTransferFact,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the copies at the node that each turn repeats."""
        for again in self.facts_of(node, LoopInvariantTransferFact):
            self.report(
                node,
                f"each step of the loop copies the same {quoted(again.name)} to {in_words(again.device)}",
                advice="move it once, before the loop",
            )
