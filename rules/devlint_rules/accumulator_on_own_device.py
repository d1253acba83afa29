"""accumulator-on-own-device: a total on the CPU gets values from another device."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Label, Severity
from devlint.domain.device import Concrete
from devlint.facts import Accumulation
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, quoted, story


class AccumulatorOnOwnDevice(OperationRule):
    """
    ## What it does
    Reports `total += value` where nothing has put the total where the value is: it was created without a device, or
    the object that keeps it has created it on a device of its own. The rule is opt-in.

    ## Why is this bad
    `total = total + loss` takes a total without dimensions from the CPU. `total += loss` does not, for what is changed
    in place stays where it is. It works with numbers, and with tensors as long as all of them are on that device.

    ## Example

        import torch

        def evaluate(batches) -> torch.Tensor:
            total = torch.tensor(0.0)
            for batch in batches:
                total += batch["loss"]  # error: [accumulator-on-own-device] "total"
            return total

        evaluate([{"loss": torch.tensor(1.0, device="cuda:0")}])

    ## Use instead

        import torch

        def evaluate(batches) -> float:
            total = 0.0
            for batch in batches:
                total += batch["loss"].item()
            return total

        evaluate([{"loss": torch.tensor(1.0, device="cuda:0")}])

    ## Fix safety
    No fix is offered: whether the total is to be a number, or a tensor beside the others, is not written in the code.

    ## Known limits
    Whether the value is a tensor at all is not known in most of these places, which is why the rule is opt-in; where
    it is known to follow something, `cpu-tensor-in-device-code` says so. A total on the CPU that has dimensions is left
    out, and so is a module's, which moves.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV110"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    wants = (Accumulation,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports what is added at the node."""
        for found in self.facts_of(node, Accumulation):
            total, added = found.total, found.added
            known = isinstance(total.device, Concrete)
            where, there = str(total.device) if known else "where it was created", in_words(added.device)
            self.report(
                node,
                f"{quoted(total.name)} stays {'on ' if known else ''}{where}, and nothing says that {there} is the "
                "same: what is added in place must be there",
                certainty=Certainty.POSSIBLE,
                labels=(Label(total.place, where), Label(added.place, there)),
                related=(*story(total.trace, total.name), *story(added.trace, added.name)),
                pytorch=found.message,
                advice="add numbers, or bring the total and what is added to one device",
            )
