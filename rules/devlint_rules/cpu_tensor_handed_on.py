"""cpu-tensor-handed-on: a CPU tensor leaves the function that creates it."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class CpuTensorHandedOn(ConflictRule):
    """
    ## What it does
    Reports a tensor with dimensions that a function creates without a device and hands on, while it is given another
    one that may be anywhere, or something that holds one. It hands on what it returns, keeps in an object that was
    there before, or gives to a call of whose result nothing is known. The rule is opt-in.

    ## Why is this bad
    A function that is given tensors is called with those of a model, and what it makes goes with them. Left on the CPU
    it raises far from here, or works until the first batch of another size makes it anew.

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
    No fix is offered: what is handed on may be for the host, as numbers to show or indices to draw are.

    ## Known limits
    Whether what is handed on ever meets anything is not asked, which is why the rule is opt-in. Constructors are left
    out, and so are functions that name the CPU or whose documentation speaks of the host, tensors without dimensions
    and those that are drawn with a generator. Where the function itself has the tensor meet something, other rules
    report that.

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
