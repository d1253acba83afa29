"""cpu-result-on-one-path: the result is on the CPU on one path only."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import Conflict, ConflictKind

from devlint_rules.support.messages import both_stories, labels, on_two_devices
from devlint_rules.support.moves.choose import bring_together
from devlint_rules.support.scopes import SurroundedRule
from devlint_rules.support.site import Site


class CpuResultOnOnePath(SurroundedRule):
    """
    ## What it does
    Reports a tensor that a function creates on the CPU and returns, if another path returns a tensor that follows an
    argument, a parameter or a buffer. Most often, the first one is the fallback for empty input. The rule is opt-in.

    ## Why is this bad
    Callers get a tensor on the device of the input, until the day when the input is empty. The CPU tensor then raises
    far from here: in `torch.stack` with the other results, in a running sum, in a collective.

    ## Example

        import torch

        def centre(points: torch.Tensor) -> torch.Tensor:
            if len(points) == 0:
                return torch.zeros(2)  # error: [cpu-result-on-one-path] "torch.zeros(2)" later
            return points.mean(0)

        clusters = [torch.ones(3, 2, device="cuda:0"), torch.ones(0, 2, device="cuda:0")]
        torch.stack([centre(points) for points in clusters])

    ## Use instead

        import torch

        def centre(points: torch.Tensor) -> torch.Tensor:
            if len(points) == 0:
                return torch.zeros(2, device=points.device)
            return points.mean(0)

        clusters = [torch.ones(3, 2, device="cuda:0"), torch.ones(0, 2, device="cuda:0")]
        torch.stack([centre(points) for points in clusters])

    ## Fix safety
    No fix is offered: the function does not say which device its callers expect.

    ## Known limits
    devlint does not ask whether a caller combines the result with another tensor. Most operators accept a CPU tensor
    without dimensions. devlint compares results one by one and within tuples, not inside lists and dicts.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got tensors is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_cat)
    """  # noqa: E501

    code = "DEV109"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    wants = (Conflict,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the results that are created at the node."""
        for conflict in self.facts_of(node, Conflict):
            if conflict.kind is ConflictKind.RESULT:
                site = Site(self.place_of(node), self.surroundings(), self.syntax())
                self.report(
                    node,
                    on_two_devices(conflict),
                    certainty=conflict.certainty,
                    labels=labels(conflict),
                    related=both_stories(conflict),
                    pytorch=conflict.message,
                    advice=bring_together(conflict, site).advice,
                )
