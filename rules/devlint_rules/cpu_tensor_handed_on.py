"""cpu-tensor-handed-on: a CPU tensor leaves a function that may get GPU tensors."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class CpuTensorHandedOn(ConflictRule):
    """
    ## What it does
    Reports a tensor with dimensions that a function creates without a device and passes out: it returns the tensor,
    stores it in an existing object, or passes it to a call with unknown result. The function must also have an argument
    that is a tensor of any device, or that holds such a tensor. The rule is opt-in.

    ## Why is this bad
    The arguments of such a function are tensors of a network, and the new tensor is used with them. If it stays on the
    CPU, it raises far from here, or works until the first batch of another size creates it anew.

    ## Example

        import torch

        class Dropped:
            def __init__(self, share: float) -> None:
                self.share = share

            def renew(self, x: torch.Tensor) -> None:
                self.mask = torch.rand(x.shape[1]) > self.share  # error: [cpu-tensor-handed-on] "`self.mask`" later

        def apply(dropped, x):
            return x.masked_fill(dropped.mask, 0)

        batch = torch.ones(2, 3, device="cuda:0")
        dropped = Dropped(0.5)
        dropped.renew(batch)
        apply(dropped, batch)

    ## Use instead

        import torch

        class Dropped:
            def __init__(self, share: float) -> None:
                self.share = share

            def renew(self, x: torch.Tensor) -> None:
                self.mask = torch.rand(x.shape[1], device=x.device) > self.share

        def apply(dropped, x):
            return x.masked_fill(dropped.mask, 0)

        batch = torch.ones(2, 3, device="cuda:0")
        dropped = Dropped(0.5)
        dropped.renew(batch)
        apply(dropped, batch)

    ## Fix safety
    No fix is offered: the tensor may be for the host, like numbers to print or indices to draw.

    ## Known limits
    devlint does not ask whether the tensor is ever combined with another one; therefore the rule is opt-in. It does not
    report constructors, functions that name the CPU or whose documentation mentions the host, tensors without
    dimensions, and tensors that a generator draws. If the function itself combines the tensor with another one, other
    rules report that.

    ## PyTorch says
    RuntimeError: expected self and mask to be on the same device, but got mask on cpu and self on cuda:0
    """

    code = "DEV116"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    kind = ConflictKind.ESCAPING_CPU_TENSOR
    possible = True
    fixes = False
