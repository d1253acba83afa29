"""unmoved-module: a module does not move to the device of its inputs."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Severity
from devlint.facts import UnmovedModule as Fact
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, quoted, story


class UnmovedModule(OperationRule):
    """
    ## What it does
    Reports a call of a module that a class or function was given, or has loaded, and does not move, with an input that
    it has put on a device of its own choice: `torch.device("cuda" if torch.cuda.is_available() else "cpu")`. The rule
    is opt-in.

    ## Why is this bad
    Whoever hands over the module need not know where its inputs go. What was loaded is on the CPU. As soon as there is
    an accelerator, module and input are apart.

    ## Example

        import torch
        from torch import nn

        class Evaluator:
            def __init__(self, model: nn.Module) -> None:
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.model = model

            def score(self, x: torch.Tensor) -> torch.Tensor:
                return self.model(x.to(self.device))  # error: [unmoved-module] "`self.model`"

        Evaluator(nn.Linear(3, 2)).score(torch.ones(1, 3))

    ## Use instead

        import torch
        from torch import nn

        class Evaluator:
            def __init__(self, model: nn.Module) -> None:
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.model = model.to(self.device)

            def score(self, x: torch.Tensor) -> torch.Tensor:
                return self.model(x.to(self.device))

        Evaluator(nn.Linear(3, 2)).score(torch.ones(1, 3))

    ## Fix safety
    No fix is offered: the module may be shared with code that has it elsewhere.

    ## Known limits
    The rule is for audits: if all who call the code move the module there before, or move the whole in which it is
    registered, it is a convention and no bug. It is silent where the code around asks the module where it is, moves it,
    or hands it on, as any of these may settle its device; and where that device was chosen outside of the class or
    function.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu (when checking argument in method wrapper_CUDA_addmm)
    """  # noqa: E501

    code = "DEV208"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (Fact,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the call at the node."""
        for found in self.facts_of(node, Fact):
            there = in_words(found.device)
            self.report(
                node,
                f"nothing here moves {quoted(found.module)}, and its input {quoted(found.name)} goes to {there}",
                certainty=Certainty.POSSIBLE,
                related=story(found.trace, found.name),
                advice=f"move {quoted(found.module)} there as well, or its input to where that is",
            )
