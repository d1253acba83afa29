"""cuda-mention: any use of `torch.cuda` or `.cuda()`."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity

from devlint_rules.support.messages import quoted
from devlint_rules.support.qualified_names import WordingRule


class CudaMention(WordingRule):
    """
    ## What it does
    Reports every `torch.cuda` and every `.cuda()`, whatever is tested before. The rule is opt-in.

    ## Why is this bad
    A library that has a layer of its own for devices, and runs on accelerators of several makes, goes around that layer
    with each of these. This is the rule of DeepSpeed, where everything goes through `get_accelerator()`.

    ## Example

        import torch

        if torch.cuda.is_available():  # error: [cuda-mention] "torch.cuda.is_available" never
            x = torch.ones(3).cuda()  # error: [cuda-mention] ".cuda()" never

    ## Use instead

        import torch

        if torch.accelerator.is_available():
            x = torch.ones(3).to(torch.accelerator.current_accelerator())

    ## Fix safety
    No fix is offered: which layer takes the place of `torch.cuda` is the project's choice.

    ## Known limits
    The words are what counts: a `cuda()` that has nothing to do with torch is reported too, and `"cuda"` as a string is
    not, which is the matter of `unguarded-cuda`. Comments and strings are not searched.

    ## PyTorch says
    Nothing: the code is right on machines with CUDA.
    """

    code = "DEV701"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    mentions = "cuda"

    def said(self, node: cst.CSTNode, name: str) -> None:
        """Reports what names `torch.cuda`."""
        if f"{name}.".startswith("torch.cuda."):
            self.report(node, f"{quoted(name)} is for CUDA only", advice="ask the project's own layer for devices")

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        """Reports `.cuda()`."""
        match node.func:
            case cst.Attribute(attr=cst.Name(value="cuda") as method):
                self.report(method, "`.cuda()` is for CUDA only", advice="use `.to(device)`")
