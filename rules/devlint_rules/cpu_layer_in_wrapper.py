"""cpu-layer-in-wrapper: a wrapper gives its module's output to a new CPU layer."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Related, Severity
from devlint.facts import LayerBesideGiven
from devlint.rule import OperationRule

from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.device_text import parameter_device


class CpuLayerInWrapper(OperationRule):
    """
    ## What it does
    Reports a layer that the `__init__` of a module creates without a device, if `forward` gives it results of another
    module that `__init__` got as an argument. The other module must have a `device` of its own, unless the class is a
    loss. The rule is opt-in.

    ## Why is this bad
    A program creates a loss for an existing network, which often is on the GPU already. A loss looks as if it had no
    weights of its own, and nobody moves it.

    ## Example

        import torch
        from torch import nn

        class SoftmaxLoss(nn.Module):
            def __init__(self, model: nn.Module, labels: int) -> None:
                super().__init__()
                self.model = model
                self.classifier = nn.Linear(3, labels)  # error: [cpu-layer-in-wrapper] "`self.classifier`" later

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.classifier(self.model(x))

        model = nn.Linear(2, 3).to("cuda:0" if torch.cuda.is_available() else "cpu")
        SoftmaxLoss(model, 4)(torch.ones(5, 2, device=model.weight.device))

    ## Use instead

        import torch
        from torch import nn

        class SoftmaxLoss(nn.Module):
            def __init__(self, model: nn.Module, labels: int) -> None:
                super().__init__()
                self.model = model
                self.classifier = nn.Linear(3, labels, device=next(model.parameters()).device)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.classifier(self.model(x))

        model = nn.Linear(2, 3).to("cuda:0" if torch.cuda.is_available() else "cpu")
        SoftmaxLoss(model, 4)(torch.ones(5, 2, device=model.weight.device))

    ## Fix safety
    No fix is offered: the network may move later, along with the loss.

    ## Known limits
    The rule serves audits: a program that moves the whole, `SoftmaxLoss(model, 4).to(device)`, is correct. A class is a
    loss if its name, or the name of a base, says so. The other module has a device of its own if its annotation is a
    class of the program with an attribute `device`. devlint does not report a class whose `__init__` names a device or
    moves anything.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu (when checking argument in method wrapper_CUDA_addmm)
    """  # noqa: E501

    code = "DEV209"
    former_names = ("layer-beside-given-module",)
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (LayerBesideGiven,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the layer that is stored at the node."""
        for found in self.facts_of(node, LayerBesideGiven):
            module = quoted(found.module)
            self.report(
                node,
                f"{quoted(found.layer)} is created on the CPU, but its input comes from {module}, which may be on "
                "another device",
                certainty=Certainty.POSSIBLE,
                related=(Related(found.meets, f"its input comes from {module} here"),),
                advice=f"create {quoted(found.layer)} on the device of the argument {quoted(found.parameter)}: "
                f"add {quoted(f'.to({parameter_device(found.parameter)})')}",
            )
