"""index-on-other-device: an index on another device than the indexed tensor."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class IndexOnOtherDevice(ConflictRule):
    """
    ## What it does
    Reports an index tensor or mask that selects from a tensor on another device, and a value that is assigned
    through an index to a tensor on another device.

    ## Why is this bad
    Indices on the CPU select from a tensor on any device, which hides that the reverse is an error: a table that
    was created without a device works with every index until the first one comes from an accelerator. And
    `x[1:3] = value` copies from any device, while `x[index] = value` does not.

    ## Example

        import torch

        table = torch.linspace(0, 1, 10)
        steps = torch.tensor([3, 5], device="cuda:0")
        betas = table[steps]  # error: [index-on-other-device] "`table` is on cpu"

    ## Use instead

        import torch

        steps = torch.tensor([3, 5], device="cuda:0")
        table = torch.linspace(0, 1, 10, device=steps.device)
        betas = table[steps]

    ## Fix safety
    Safe: what is selected from, or the assigned value, is moved to where it already is in every run that passes the
    line. Where it is created earlier and used elsewhere too, giving it a device there is unsafe.

    ## Known limits
    An index without dimensions is a number, which selects from any device; where it is not known whether an
    index has dimensions, nothing is reported. The same holds for an assigned value that may have one element. Of
    parameters of functions that prepare data, by their names or those of their modules, nothing is reported either.

    ## PyTorch says
    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)
    """

    code = "DEV104"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.INDEX
