"""unmoved-module: a module does not move to the device of its inputs."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Cause, Certainty, Severity
from devlint.facts import UnmovedModule as Fact

from devlint_rules.support.messages import in_words, quoted, story
from devlint_rules.support.scopes import SurroundedRule


class UnmovedModule(SurroundedRule):
    """
    ## What it does
    Reports a call of a module that a class or function got as an argument or loaded, and does not move, with an input
    that it put on a device of its own choice: `torch.device("cuda" if torch.cuda.is_available() else "cpu")`. The rule
    is opt-in.

    ## Why is this bad
    The caller that passes the module need not know the device of its inputs, and a loaded module is on the CPU. On a
    machine with an accelerator, module and input are on different devices.

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
    No fix is offered: other code may share the module and need it elsewhere.

    ## Known limits
    The rule serves audits: if every caller moves the module before, or moves the outer module, the code is a convention
    and not a bug. devlint does not report the call if the surrounding code asks the module for its device, moves it or
    passes it on, because each of these may settle its device. It also needs the choice of the device in the same class
    or function.

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
                f"{quoted(found.module)} does not move here, but its input {quoted(found.name)} goes to {there}",
                certainty=Certainty.POSSIBLE,
                related=story(found.trace, found.name),
                advice=f"move {quoted(found.module)} to {there} too, or keep the input on its device",
                cause=Cause(self.surroundings().qualified(found.module, self.place_of(node)), str(found.device)),
            )
