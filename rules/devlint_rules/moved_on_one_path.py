"""moved-on-one-path: one branch moves a value, another branch does not."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Label, Severity
from devlint.facts import PartialMove
from devlint.rule import OperationRule

from devlint_rules.support.messages import TWO_DEVICES, quoted, story


class MovedOnOnePath(OperationRule):
    """
    ## What it does
    Reports a move on one path where another path does not do the like: two branches of an `if` each move a value that
    the other one does not, or one branch moves what a name holds, and in the other one the name holds a part of some
    object that nothing moves. The rule is opt-in.

    ## Why is this bad
    What follows the branches uses the values together, or the name in place of what it stands for. Whichever path was
    taken, something is left where it was.

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
    No fix is offered: which of the values have to be moved is not written in the branches.

    ## Known limits
    Where the values meet is not asked, so it may be that one path uses but one of them. A part of an object may be on
    the right device already; a test with a word for a device in it is taken to know that.

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
            told, remedy = f"it is {quoted(other.name)}, which nothing moves", "move it behind the branches"
            if found.other_moves:
                told, remedy = f"{quoted(other.name)} instead", "move both on every path that moves one of them"
            self.report(
                node,
                f"{quoted(moved.name)} is moved on one path, and on another path {told}",
                certainty=Certainty.POSSIBLE,
                labels=(Label(moved.place, "one path"), Label(other.place, "another path")),
                related=(*story(moved.trace, moved.name), *story(other.trace, other.name)),
                pytorch=TWO_DEVICES,
                advice=remedy,
            )
