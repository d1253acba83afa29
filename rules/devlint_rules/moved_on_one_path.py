"""moved-on-one-path: one branch moves a value, another branch does not."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Label, Severity
from devlint.domain.device import UNNAMED
from devlint.facts import PartialMove
from devlint.rule import OperationRule

from devlint_rules.support.messages import TWO_DEVICES_LATER, quoted, story


class MovedOnOnePath(OperationRule):
    """
    ## What it does
    Reports a move on one path without the same move on another path. The rule is opt-in, and it has two cases: each
    branch of an `if` moves a value that the other branch does not move; or one branch moves the value of a name, and in
    the other branch the name holds a part of an object that nothing moves.

    ## Why is this bad
    The code after the branches uses the values together, or uses the name for both of them. On each path, one value
    stays behind.

    ## Example

        import torch

        def loss(scores: torch.Tensor, target: torch.Tensor, several: bool) -> torch.Tensor:
            if several:
                scores = scores.to("cuda:0")  # error: [moved-on-one-path] "scores" later
            else:
                target = target.to("cuda:0")
            return (scores - target).sum()

        loss(torch.ones(3), torch.ones(3), True)

    ## Use instead

        import torch

        def loss(scores: torch.Tensor, target: torch.Tensor, several: bool) -> torch.Tensor:
            scores = scores.to("cuda:0")
            target = target.to("cuda:0")
            return (scores - target).sum()

        loss(torch.ones(3), torch.ones(3), True)

    ## Fix safety
    No fix is offered: the branches do not say which of the values have to move.

    ## Known limits
    devlint does not ask where the values are combined, so perhaps each path uses only one of them. The part of an
    object may be on the right device already; devlint assumes that a condition with a word for a device in it has
    checked that.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV111"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    wants = (PartialMove,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the moves at the node."""
        for found in self.facts_of(node, PartialMove):
            moved, other = found.moved, found.other
            own = "the value of this expression" if moved.name == UNNAMED else quoted(moved.name)
            told, remedy = f"another path uses {quoted(other.name)}, which nothing moves", "move it on both paths"
            if found.other_moves:
                told, remedy = (
                    f"another path moves {quoted(other.name)} instead",
                    "move both on every path that moves one of them",
                )
            self.report(
                node,
                f"one path moves {own}, {told}",
                certainty=Certainty.POSSIBLE,
                labels=(Label(moved.place, "one path"), Label(other.place, "another path")),
                related=(*story(moved.trace, moved.name), *story(other.trace, other.name)),
                pytorch=TWO_DEVICES_LATER,
                advice=remedy,
            )
