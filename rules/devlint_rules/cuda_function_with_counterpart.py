"""cuda-function-with-counterpart: `torch.accelerator` has the same function for any GPU."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Edit, Fix, Safety, Severity
from devlint.fixes.placing import named

from devlint_rules.support.messages import quoted
from devlint_rules.support.qualified_names import WordingRule

_SAME = (
    "device_count",
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "synchronize",
)

COUNTERPARTS = {f"torch.cuda.{name}": f"torch.accelerator.{name}" for name in _SAME} | {
    "torch.cuda.current_device": "torch.accelerator.current_device_index",
    "torch.cuda.device": "torch.accelerator.device_index",
    "torch.cuda.manual_seed": "torch.manual_seed",
    "torch.cuda.manual_seed_all": "torch.manual_seed",
    "torch.cuda.mem_get_info": "torch.accelerator.get_memory_info",
    "torch.cuda.set_device": "torch.accelerator.set_device_index",
}
"""What does the same on any accelerator."""


class CudaFunctionWithCounterpart(WordingRule):
    """
    ## What it does
    Reports functions of `torch.cuda` with a counterpart in `torch.accelerator` or torch for every accelerator:
    `synchronize`, `empty_cache`, `set_device`, `manual_seed`, the functions that measure memory, and others. The rule
    is opt-in.

    ## Why is this bad
    Such code does not need CUDA, and still runs on no accelerator of another make. vLLM has this rule, except for
    functions of its own.

    ## Example

        import torch

        if torch.accelerator.is_available():
            torch.cuda.synchronize()  # error: [cuda-function-with-counterpart] "torch.accelerator.synchronize" never

    ## Use instead

        import torch

        if torch.accelerator.is_available():
            torch.accelerator.synchronize()

    ## Fix safety
    Unsafe: `torch.accelerator` came with PyTorch 2.6, and its functions for memory with 2.9; `torch.manual_seed` seeds
    the CPU as well. If the name is imported from `torch.cuda`, there is no fix.

    ## Known limits
    devlint goes by words, so it also reports code that only ever runs with CUDA. It does not report
    `torch.cuda.is_available`, because a program may want to know just that.

    ## PyTorch says
    Nothing where there is CUDA; elsewhere AssertionError: Torch not compiled with CUDA enabled
    """

    code = "DEV702"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    mentions = "cuda"

    def said(self, node: cst.CSTNode, name: str) -> None:
        """Reports the functions with a counterpart."""
        other = COUNTERPARTS.get(name)
        if other is None:
            return
        fix = None
        torch = named("torch", self.place_of(node), self.syntax())
        if isinstance(node, cst.Attribute) and torch is not None:
            text = other.replace("torch", torch[0], 1)
            edits = tuple(sorted((*torch[1], Edit(self.syntax().place(node), text))))
            fix = Fix(Safety.UNSAFE, f"use `{text}`, which works with any accelerator", edits)
        message = f"{quoted(name)} works only with CUDA; {quoted(other)} works with any accelerator"
        self.report(node, message, advice=f"use {quoted(other)}", fix=fix)
