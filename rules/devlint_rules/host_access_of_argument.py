"""host-access-of-argument: numpy reads an argument that a caller may have on a GPU."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class HostAccessOfArgument(ConflictRule):
    """
    ## What it does
    Reports `.numpy()`, and other operations in which numpy reads a tensor, on an argument that nothing has moved to the
    CPU. The rule is opt-in.

    ## Why is this bad
    numpy arrays are in the memory of the host. The function works for callers with CPU tensors, and raises for the
    first caller with a tensor that a network has computed on an accelerator.

    ## Example

        import torch

        def worst(predicted: torch.Tensor, target: torch.Tensor) -> float:
            return float((predicted - target).numpy().max())  # error: [host-access-of-argument] "on cpu"

        worst(torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:0"))

    ## Use instead

        import torch

        def worst(predicted: torch.Tensor, target: torch.Tensor) -> float:
            return float((predicted - target).cpu().numpy().max())

        worst(torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:0"))

    ## Fix safety
    As for `host-access-of-device-tensor`.

    ## Known limits
    Much code converts tensors that never leave the host; therefore the rule is opt-in, and tells what a function
    requires of its callers. With evidence that the tensor is on an accelerator, `host-access-of-device-tensor` reports
    it. devlint knows tensors among the parameters by annotations and uses.

    ## PyTorch says
    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
    """  # noqa: E501

    code = "DEV112"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    kind = ConflictKind.HOST
    possible = True
