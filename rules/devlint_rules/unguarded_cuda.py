"""unguarded-cuda: CUDA is used without a check for it."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import UncheckedDevice

from devlint_rules.support.availability import advised, checked
from devlint_rules.support.messages import index_of, quoted, used_here
from devlint_rules.support.scopes import SurroundedRule


class UnguardedCuda(SurroundedRule):
    """
    ## What it does
    Reports `.cuda()`, `"cuda"` and their like where no test of `torch.cuda.is_available()` or something
    equivalent leads to them, and `@torch.autocast("cuda")` on a function.

    ## Why is this bad
    The program runs on no machine without an NVIDIA GPU: not on a laptop, not in continuous integration,
    not on an accelerator of another make. A decorator `@torch.autocast("cuda")` raises nothing there, but
    leaves the function in full precision, whatever its author wanted.

    ## Example

        import torch

        x = torch.ones(3).cuda()  # error: [unguarded-cuda] "cuda" on 0 devices

    ## Use instead

        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        x = torch.ones(3).to(device)

    ## Fix safety
    Safe: a machine that has the device computes as before, and another one uses the CPU. The fix names the device that
    the program has chosen. If there is none, it makes the choice where a variable gets the device, or adds such a
    variable behind the imports. The choice is by `torch.accelerator` if the program speaks of it.
    No fix is offered where something else decides the device: an option such as `--use_cpu`, a device of the
    program that no test has chosen, or the tensors and modules that a function is given. Nor is there one for arguments
    of functions of `torch.cuda`, which take no other device.

    ## Known limits
    A `try` around the use counts as a test if a handler goes on with something else. What a test has chosen counts
    as the test: a flag, a name, a list, a type of tensors. A device that comes from outside, such as a command line
    option, is the user's choice and never reported, nor is what stands behind a flag that is set by hand, such as
    `USE_CUDA = True`; nor what a function or a file does whose name says that it is for CUDA: `batch.cuda()`,
    `dtw_cuda(x)`, `train_gpu.py`, or a file that imports `triton`, `tensorrt`, `deepspeed` and the like.
    A function that its own file calls only where a test has succeeded needs none; nor does a class of which it makes
    objects only there. Calls in other files are not looked at. A process group of a file that names no backend but
    `nccl` is taken for a test.
    For a project that is for CUDA alone, `devices = 1` in its configuration says so, and nothing is reported.
    `with torch.autocast("cuda")` is left alone: it is harmless on other machines. Functions such as
    `torch.cuda.synchronize()` are reported only where `devices` says that the machine has no CUDA device.

    ## PyTorch says
    RuntimeError: No CUDA GPUs are available
    """

    code = "DEV301"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (UncheckedDevice,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the uses of a CUDA device without an index at the node."""
        for use in self.facts_of(node, UncheckedDevice):
            if index_of(use.device) is not None:
                continue
            if use.written == "autocast":
                self.report(
                    node,
                    f"{quoted(use.text)} is for CUDA whatever device the function meets: elsewhere it does nothing",
                    advice="enter `torch.autocast(x.device.type)` in the body of the function",
                )
                continue
            lacks = "nothing has checked that there is one" if use.available is None else "this machine has none"
            for_cuda = "; a project for CUDA alone says `devices = 1`" if use.available is None else ""
            self.report(
                node,
                f"{quoted(use.text)} needs a CUDA device, and {lacks}",
                related=used_here(use),
                pytorch="No CUDA GPUs are available",
                advice=f"{advised(self.place_of(node), self.syntax(), self.surroundings())}{for_cuda}",
                fix=checked(use, self.place_of(node), self.syntax(), self.surroundings()),
            )
