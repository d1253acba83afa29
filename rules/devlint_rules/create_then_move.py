"""create-then-move: a tensor is created on the CPU and moved at once."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import CreateThenMove as CreateThenMoveFact
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, quoted
from devlint_rules.support.moves.creation import is_old_constructor


class CreateThenMove(OperationRule):
    """
    ## What it does
    Reports `torch.zeros(n).to(device)`, `.cuda()` and the like directly after a function that takes `device=`. The rule
    is opt-in.

    ## Why is this bad
    The program writes the tensor to the host's memory, copies it, and waits for the copy. With `device=`, one call
    creates the tensor on the device.

    ## Example

        import torch

        mask = torch.zeros(3, 4).to("cuda")  # error: [create-then-move] "torch.zeros(3, 4)" never

    ## Use instead

        import torch

        mask = torch.zeros(3, 4, device="cuda")

    ## Fix safety
    No fix is offered: a seed gives other random numbers on the CPU than on a GPU.

    ## Known limits
    devlint reports a creation and a move in one expression only, not a tensor with a name in between. It does not
    report modules.

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
            factory = made.factory.partition("(")[0]
            advice = f"create it on {where}: pass `device=` to {quoted(factory)}"
            if is_old_constructor(factory):
                advice = f"create it on {where}, for example by `torch.tensor(…, device=…)`"
            self.report(
                node,
                f"{quoted(made.factory)} is created on the CPU, and `.{made.method}()` copies it to {where}",
                advice=advice,
            )
