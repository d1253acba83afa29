"""tensor-in-plain-attribute: a module stores a tensor that does not move with it."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import KeptTensor, LeftBehind
from devlint.rule import OperationRule

from devlint_rules.support.messages import quoted


class TensorInPlainAttribute(OperationRule):
    """
    ## What it does
    Reports a tensor (except a 0-dim one) that a module stores in an ordinary attribute, in `__init__` or in a method
    that `__init__` calls. The rule is opt-in. If the module combines the tensor with an input, a parameter or a
    buffer, `unregistered-tensor-attribute` (DEV201) reports it instead.

    ## Why is this bad
    `module.to(device)` moves parameters, buffers and submodules, and nothing else. The attribute stays on its device.
    Other code that combines it with values of the module then raises.

    ## Example

        import torch
        from torch import nn

        class Permute(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.permutation = torch.randperm(size)  # error: [tensor-in-plain-attribute] "self.permutation" later

            def forward(self, x):
                return x[:, self.permutation]

        permute = Permute(3).to("cuda:0")
        permute(torch.ones(2, 3, device="cuda:0")).gather(1, permute.permutation[None])

    ## Use instead

        import torch
        from torch import nn

        class Permute(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("permutation", torch.randperm(size), persistent=False)

            def forward(self, x):
                return x[:, self.permutation]

        permute = Permute(3).to("cuda:0")
        permute(torch.ones(2, 3, device="cuda:0")).gather(1, permute.permutation[None])

    ## Fix safety
    No fix is offered: the author may want the tensor to stay on the CPU.

    ## Known limits
    devlint does not report an attribute that another method stores, a tensor in a list or dict, or an attribute of a
    class that overrides `to` or `_apply`.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got index is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_gather)
    """  # noqa: E501

    code = "DEV207"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (KeptTensor,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the attributes that are stored at the node."""
        seen = {left.attribute for left in self.facts_of(node, LeftBehind)}
        for kept in self.facts_of(node, KeptTensor):
            if kept.attribute in seen:
                continue
            name = kept.attribute.rpartition(".")[2]
            self.report(
                node,
                f"{quoted(kept.attribute)} is a tensor, but not a buffer: moving the module leaves it behind",
                advice=f"if {quoted(f'self.{name}')} has to move with the module, register it as a buffer: "
                f'`self.register_buffer("{name}", …)`',
            )
