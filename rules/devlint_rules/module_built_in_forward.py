"""module-built-in-forward: `forward` creates a layer on the CPU and calls it."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Related, Severity
from devlint.facts import Built
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, quoted


class ModuleBuiltInForward(OperationRule):
    """
    ## What it does
    Reports a module with parameters that `forward`, or another function with tensor arguments, creates on the CPU and
    calls with its input.

    ## Why is this bad
    A module that `forward` creates is not part of the outer module. A move does not reach it, so the first input on an
    accelerator raises. The optimizer does not know it, and each call begins with new random weights.

    ## Example

        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                head = nn.Linear(3, 2)  # error: [module-built-in-forward] "nn.Linear(3, 2)" later
                return head(x)

        Net().to("cuda:0")(torch.ones(4, 3, device="cuda:0"))

    ## Use instead

        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(3, 2)

            def forward(self, x):
                return self.head(x)

        Net().to("cuda:0")(torch.ones(4, 3, device="cuda:0"))

    ## Fix safety
    No fix is offered: the layer belongs into `__init__`, and its sizes must be known there.

    ## Known limits
    devlint does not follow a layer that the code creates once, if its attribute is still None.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu
    """  # noqa: E501

    code = "DEV205"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (Built,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the modules that are built at the node."""
        for built in self.facts_of(node, Built):
            where = f"is on {in_words(built.device)}"
            if in_words(built.device).endswith(quoted(built.name)):
                where = "may be on another device"
            runs, home = "the function runs", "create it once, outside of the function, so that it keeps its weights"
            if built.in_forward:
                runs = "`forward` runs"
                home = "create it in `__init__`, so that it is trained and moved with the module"
            self.report(
                node,
                f"each time {runs}, {quoted(built.module)} is created on the CPU, but its input {quoted(built.name)} "
                f"{where}",
                certainty=Certainty.ON_ACCELERATOR,
                related=(Related(built.meets, f"{quoted(built.name)} is its input here"),),
                advice=f"{home}, or move it to {in_words(built.device)}",
            )
