"""mixed-device-operands: the operands of one operation are on different devices."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


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
    Safe: the value that moves is moved to where it already is in every run that passes the line. Where a value is
    created earlier and used elsewhere too, giving it a device there is unsafe, for those uses move with it.

    ## Known limits
    A device that a setting, a command line or a caller chooses is unknown and never reported. A tensor on
    the CPU without dimensions, such as `torch.tensor(2.0)`, may meet tensors of any device in elementwise
    operations; where the number of dimensions is not known, nothing is reported.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV101"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.OPERANDS
