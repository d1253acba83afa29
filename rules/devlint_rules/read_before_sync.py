"""read-before-sync: a copy to the CPU is read before it has arrived."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import ReadBeforeSync as ReadBeforeSyncFact
from devlint.rule import OperationRule

from devlint_rules.support.messages import quoted, story


class ReadBeforeSync(OperationRule):
    """
    ## What it does
    Reports `item`, `tolist`, `numpy`, `print` and tests of a tensor that was copied with
    `.to("cpu", non_blocking=True)` where nothing has waited for the copy. The rule is opt-in.

    ## Why is this bad
    The call returns before the copy has begun. What is read is whatever the memory held before: now and then, on a busy
    GPU, the numbers are wrong, and no error says so.

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
    Calculations with the copy are not looked at, only reads by Python. Whatever may wait for the device ends the
    search: a call of any other function of the program, or of one that is not known.

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
            reads = quoted(read.text) if not read.how else f"{read.how} {quoted(read.text)}"
            self.report(
                node,
                f"{reads} reads a copy that may not have arrived: nothing has waited for it",
                related=story(read.related),
                advice="call `torch.cuda.synchronize()` first, or leave `non_blocking=True` out",
            )
