"""index-on-other-device: an index and the indexed tensor are on different devices."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, named, quoted


class IndexOnOtherDevice(ConflictRule):
    """
    ## What it does
    Reports an index or mask on another device than the indexed tensor, and an assignment `x[index] = value` with a
    value on another device.

    ## Why is this bad
    An index on the CPU selects from a tensor on any device, which hides that the reverse is an error: a table without a
    device works until the first index comes from an accelerator. `x[1:3] = value` copies from any device; `x[index] =
    value` does not.

    ## Example

        import torch

        table = torch.linspace(0, 1, 10)
        steps = torch.tensor([3, 5], device="cuda:0")
        betas = table[steps]  # error: [index-on-other-device] "`table` on cpu"

    ## Use instead

        import torch

        steps = torch.tensor([3, 5], device="cuda:0")
        table = torch.linspace(0, 1, 10, device=steps.device)
        betas = table[steps]

    ## Fix safety
    Safe: the indexed tensor or the assigned value moves to a device on which it is already in every run that passes the
    line. If it is created earlier and also used elsewhere, a device at its creation is an unsafe fix.

    ## Known limits
    An index without dimensions is a number, and a number selects from any device. If devlint does not know whether an
    index has dimensions, or whether an assigned value has one element, it reports nothing. It also ignores the
    parameters of functions that prepare data, judged by the names of the functions and files.

    ## PyTorch says
    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)
    """

    code = "DEV104"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.INDEX
    possible = False

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.operation)} {broken.fails}: {named(broken.culprit)} is on {broken.culprit.where}"
