"""unguarded-cuda: CUDA is used without a check for it."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import Spelling, UncheckedDevice

from devlint_rules.support.availability import advised, checked
from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import index_of, quoted, used_here
from devlint_rules.support.scopes import SurroundedRule


class UnguardedCuda(SurroundedRule):
    """
    ## What it does
    Reports `.cuda()`, `"cuda"` and the like without an earlier check of `torch.cuda.is_available()` or the like,
    and `@torch.autocast("cuda")` on a function.

    ## Why is this bad
    The program runs on no machine without an NVIDIA GPU: not on a laptop, not in continuous integration, not on another
    accelerator. A decorator `@torch.autocast("cuda")` raises nothing there, but leaves the function in full precision.

    ## Example

        import torch

        x = torch.ones(3).cuda()  # error: [unguarded-cuda] "cuda" on 0 devices

    ## Use instead

        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        x = torch.ones(3).to(device)

    ## Fix safety
    Safe: a machine with the device computes as before, and any other machine uses the CPU. The fix uses the device that
    the program has chosen. If there is none, the fix adds a check where the program assigns the device to a variable,
    or defines `device = …` below the imports. It uses `torch.accelerator` if the program does. No fix is offered if
    other code decides the device: an option such as `--use_cpu`, a `device` that is set without a check, or the tensors
    and modules that a function gets. Arguments of `torch.cuda` functions get no fix either, because they take no other
    device.

    ## Known limits
    These count as a check: a `try` around the use whose handler falls back to another device; a variable that a check
    has set; and a process group, if the file names no backend but `nccl`. devlint does not report:

    * a device from outside, such as a command line option, and code below a flag that a user sets by hand, such as
      `USE_CUDA = True`;
    * a function or file whose name says that it is for CUDA (`batch.cuda()`, `dtw_cuda(x)`, `train_gpu.py`), and a file
      that imports `triton`, `tensorrt`, `deepspeed` or the like;
    * a function or class that its own file calls only after a test; devlint does not read the calls in other files;
    * `with torch.autocast("cuda")`, which is harmless on other machines.

    If your project needs CUDA, set `devices = 1` in its configuration, and devlint reports none of this. devlint
    reports functions such as `torch.cuda.synchronize()` only if `devices = 0` says that the machine has no CUDA device.

    ## PyTorch says
    RuntimeError: No CUDA GPUs are available
    """

    code = "DEV301"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (UncheckedDevice,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        written = f'{broken.call} = "{broken.culprit.where}"' if broken.call.isidentifier() else broken.call
        return f"{quoted(written)} fails on a machine without an NVIDIA GPU"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the uses of a CUDA device without an index at the node."""
        for use in self.facts_of(node, UncheckedDevice):
            if index_of(use.device) is not None:
                continue
            if use.written is Spelling.AUTOCAST:
                self.report(
                    node,
                    f"{quoted(use.text)} applies to CUDA only and has no effect on other devices",
                    advice="enter `torch.autocast(x.device.type)` in the body of the function",
                )
                continue
            place = self.place_of(node)
            fix = checked(use, place, self.syntax(), self.surroundings())
            lacks = "nothing has checked that there is one" if use.available is None else "this machine has none"
            advice = advised(place, self.syntax(), self.surroundings()) if fix is None else fix.message
            if use.available is None:
                advice += "; if the project always has a GPU, set `devices = 1` in devlint's configuration"
            self.report(
                node,
                f"{quoted(use.text)} needs a CUDA device, and {lacks}",
                related=used_here(use, place),
                pytorch="No CUDA GPUs are available",
                advice=advice,
                fix=fix,
            )
