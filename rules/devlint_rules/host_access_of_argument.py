"""host-access-of-argument: numpy reads a tensor that the caller may keep on a GPU."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class HostAccessOfArgument(ConflictRule):
    """
    ## What it does
    Reports `.numpy()` and other ways to have numpy read a tensor that a function is given, where nothing has put it on
    the CPU. The rule is opt-in.

    ## Why is this bad
    Arrays of numpy are in the memory of the host. The function works for callers with data there, and raises for the
    first one that hands over what a model has computed on an accelerator.

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
    Much code converts tensors that never leave the host, which is why the rule is opt-in: it says what a function asks
    of its callers. Where something tells that the tensor is on an accelerator, `host-access-of-device-tensor` reports
    it. Parameters are known to be tensors by their annotations and uses.

    ## PyTorch says
    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
    """  # noqa: E501

    code = "DEV112"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    kind = ConflictKind.HOST
    possible = True
