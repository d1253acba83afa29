"""create-then-move: a tensor is created on the CPU and moved at once."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import CreateThenMove as CreateThenMoveFact
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, quoted


class CreateThenMove(OperationRule):
    """
    ## What it does
    Reports `torch.zeros(n).to(device)`, `.cuda()` and their like directly behind a function that takes `device=`. The
    rule is opt-in.

    ## Why is this bad
    The tensor is written to the host's memory first and copied from there, and the host waits for the copy. With
    `device=` it is created where it is wanted, with one call.

    ## Example

        import torch

        mask = torch.zeros(3, 4).to("cuda")  # error: [create-then-move] "torch.zeros(3, 4)" never

    ## Use instead

        import torch

        mask = torch.zeros(3, 4, device="cuda")

    ## Fix safety
    No fix is offered: random numbers differ between the CPU and a GPU, whatever the seed.

    ## Known limits
    Only a creation and a move in one expression are reported, not a tensor that has a name in between. Modules are left
    alone.

    ## PyTorch says
    Nothing: the result is the same, and comes later.
    """

    code = "DEV502"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (CreateThenMoveFact,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the tensors that are moved where they are made, at the node."""
        for made in self.facts_of(node, CreateThenMoveFact):
            where = in_words(made.device)
            self.report(
                node,
                f"{quoted(made.factory)} is created on the CPU, and {quoted(made.method)} copies it to {where}",
                advice="create it there: `device=…`",
            )
