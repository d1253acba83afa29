"""mixed-device-operands: the operands of one operation are on different devices."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, named, quoted


class MixedDeviceOperands(ConflictRule):
    """
    ## What it does
    Reports an operation whose tensors are on different devices on every path that reaches it.

    ## Why is this bad
    PyTorch computes on one device at a time and moves nothing by itself. The operation raises, often hours
    into a job, and only on the machine that has the second device.

    ## Example

        import torch

        x = torch.ones(3, device="cuda:0")
        y = x + torch.ones(3)  # error: [mixed-device-operands] "cuda:0"

    ## Use instead

        import torch

        x = torch.ones(3, device="cuda:0")
        y = x + torch.ones(3, device=x.device)

    ## Fix safety
    Safe: in every run that passes the line today, the moved value is on that device already. If the value is created
    earlier and also used elsewhere, a device at its creation is an unsafe fix, because the other uses move with it.

    ## Known limits
    devlint does not report a device that a setting, a command line or a caller chooses. A tensor on the CPU without
    dimensions, such as `torch.tensor(2.0)`, may be combined with tensors of any device in elementwise operations. If
    devlint does not know the number of dimensions, it reports nothing.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV101"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.OPERANDS

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        culprit, other = broken.culprit, broken.other
        start = f"{quoted(broken.operation)} {broken.fails}"
        if "the CPU" not in (culprit.where, other.where):
            return f"{start}: {named(culprit)} is on {culprit.where}, {named(other)} on {other.where}"
        if culprit.how == "moved" or not culprit.name:
            return f"{start}: {named(culprit)} is on {culprit.where}"
        return f"{start}: {named(culprit)} is not moved"
