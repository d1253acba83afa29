"""accumulator-on-own-device: a total on the CPU gets values from another device."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Label, Severity
from devlint.domain.device import Concrete
from devlint.facts import Accumulation
from devlint.rule import OperationRule

from devlint_rules.support.messages import ELSEWHERE, quoted, story


class AccumulatorOnOwnDevice(OperationRule):
    """
    ## What it does
    Reports `total += value` if nothing shows that the total is on the device of the value: it was created without a
    device, or its object created it on a device of its own. The rule is opt-in.

    ## Why is this bad
    `total = total + loss` accepts a CPU total without dimensions. `total += loss` does not, because an in-place
    operation keeps the total on its device. The line works with numbers, and with tensors as long as all of them are on
    that device.

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
    No fix is offered: the code does not say whether the total should be a number or a tensor on the device of the
    values.

    ## Known limits
    In most of these places, devlint does not even know that the value is a tensor; therefore the rule is opt-in. If the
    value is known to follow an input, `cpu-tensor-in-device-code` reports the line. devlint does not report a CPU total
    with dimensions, nor a total that belongs to a module and moves with it.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV110"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    wants = (Accumulation,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the additions at the node."""
        for found in self.facts_of(node, Accumulation):
            total, added = found.total, found.added
            known = isinstance(total.device, Concrete)
            where = str(total.device) if known else "where it was created"
            self.report(
                node,
                f"{quoted(total.name)} stays {'on ' if known else ''}{where}, "
                f"but {quoted(added.name)} {ELSEWHERE}: "
                "an in-place addition needs both on the same device",
                certainty=Certainty.POSSIBLE,
                labels=(Label(total.place, where), Label(added.place, ELSEWHERE)),
                related=(*story(total.trace, total.name), *story(added.trace, added.name)),
                pytorch=found.message,
                advice="add Python numbers (`.item()`), or move the total to the device of the added values",
            )
