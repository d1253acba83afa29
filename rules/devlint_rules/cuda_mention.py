"""cuda-mention: code uses `torch.cuda` or `.cuda()`."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity

from devlint_rules.support.messages import quoted
from devlint_rules.support.qualified_names import WordingRule


class CudaMention(WordingRule):
    """
    ## What it does
    Reports every `torch.cuda` and every `.cuda()`, with or without a test before it. The rule is opt-in.

    ## Why is this bad
    Some libraries have their own layer for devices and run on accelerators of several makes. Each of these uses goes
    around that layer. DeepSpeed has this rule: its code goes through `get_accelerator()`.

    ## Example

        import torch

        if torch.cuda.is_available():  # error: [cuda-mention] "torch.cuda.is_available" never
            x = torch.ones(3).cuda()  # error: [cuda-mention] ".cuda()" never

    ## Use instead

        import torch

        if torch.accelerator.is_available():
            x = torch.ones(3).to(torch.accelerator.current_accelerator())

    ## Fix safety
    No fix is offered: the project chooses the layer that replaces `torch.cuda`.

    ## Known limits
    devlint goes by words: it reports a `cuda()` that has nothing to do with torch, and not the string `"cuda"`, which
    `unguarded-cuda` covers. It does not search comments and strings.

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
            self.report(
                node,
                f"{quoted(name)} is a name for CUDA, not for all accelerators",
                advice="use what your project has for all accelerators, or its counterpart outside of `torch.cuda`",
            )

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        """Reports `.cuda()`."""
        match node.func:
            case cst.Attribute(attr=cst.Name(value="cuda") as method):
                self.report(
                    method,
                    "`.cuda()` works with CUDA devices only, not with other accelerators",
                    advice="use `.to(device)`, with a device that can be any accelerator",
                )
