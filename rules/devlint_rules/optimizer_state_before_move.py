"""optimizer-state-before-move: an optimizer has state from before the module moved."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst
from devlint.diagnostics import Place, Severity
from devlint.facts import StaleOptimizer, Step
from devlint.rule import OperationRule

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import in_words, quoted, story


class OptimizerStateBeforeMove(OperationRule):
    """
    ## What it does
    Reports a step of an optimizer with state from before a move of its module.

    ## Why is this bad
    Most optimizers create tensors for each parameter in their first step, and `load_state_dict` moves them to the
    device that the parameters have at that moment. These tensors do not move with the module: the next step mixes the
    old device with the new one. An optimizer that was only constructed before the move works, except for Adagrad, which
    creates its state at once.

    ## Example

        import torch
        from torch import nn

        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adagrad(net.parameters())
        net.to("cuda:0")
        net(torch.ones(1, 4, device="cuda:0")).sum().backward()
        optimizer.step()  # error: [optimizer-state-before-move] "`optimizer`"

    ## Use instead

        import torch
        from torch import nn

        net = nn.Linear(4, 2)
        net.to("cuda:0")
        optimizer = torch.optim.Adagrad(net.parameters())
        net(torch.ones(1, 4, device="cuda:0")).sum().backward()
        optimizer.step()

    ## Fix safety
    No fix is offered: the statements have to change their order.

    ## Known limits
    devlint follows an optimizer that gets `module.parameters()`, alone, in a list or in groups. If the program touches
    the state itself (`optimizer.state`), devlint assumes that the program moves it. SGD counts if its momentum is not
    the literal 0.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV206"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (StaleOptimizer,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.call)} {broken.fails}: its state is still on {broken.culprit.where}"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the steps at the node."""
        for stale in self.facts_of(node, StaleOptimizer):
            name = quoted(stale.name)
            self.report(
                node,
                f"the state of {name} is on {in_words(stale.state)}, "
                f"but its parameters have moved to {in_words(stale.parameters)}",
                certainty=stale.certainty,
                related=story([_told(step, self.place_of(node)) for step in stale.trace]),
                advice=f"move the module before {name} is created, loaded or stepped",
            )


def _told(step: Step, reported: Place) -> Step:
    """A step of the story; an optimizer that made its state at the reported line did so in an earlier run of it."""
    return replace(step, what=f"{step.what}, which was an earlier run of this line") if step.place == reported else step
