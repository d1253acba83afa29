"""read-before-sync: a copy to the CPU is read before it has arrived."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import ReadBeforeSync as ReadBeforeSyncFact
from devlint.rule import OperationRule

from devlint_rules.support.messages import reading, story


class ReadBeforeSync(OperationRule):
    """
    ## What it does
    Reports `item`, `tolist`, `numpy`, `print` and conditions on a tensor that was copied with `.to("cpu",
    non_blocking=True)`, if no call has waited for the copy. The rule is opt-in.

    ## Why is this bad
    The call returns before the copy has begun, and the read returns the old content of the memory. On a busy GPU, the
    numbers are wrong now and then, without an error.

    ## Example

        import torch

        x = torch.ones(3, device="cuda")
        y = x.to("cpu", non_blocking=True)
        print(y.tolist())  # error: [read-before-sync] "y.tolist()" never

    ## Use instead

        import torch

        x = torch.ones(3, device="cuda")
        y = x.to("cpu", non_blocking=True)
        torch.cuda.synchronize()
        print(y.tolist())

    ## Fix safety
    No fix is offered: an event waits for less than `torch.cuda.synchronize()` does.

    ## Known limits
    devlint reports reads by Python, not calculations with the copy. A call that may wait for the device ends the
    search: a call of another function of the program, or of an unknown one.

    ## PyTorch says
    Nothing: the numbers may be wrong.
    """

    code = "DEV504"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (ReadBeforeSyncFact,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the reads at the node that come too early."""
        for read in self.facts_of(node, ReadBeforeSyncFact):
            self.report(
                node,
                f"{reading(read.text, read.how)} reads a copy that may not have arrived: no call waits for the copy",
                related=story(read.related),
                advice="call `torch.cuda.synchronize()` between the copy and this read, or remove `non_blocking=True`",
            )
