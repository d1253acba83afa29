"""collective-on-backend-without-device: a collective gets a tensor that its backend cannot send."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import BackendMismatch
from devlint.rule import OperationRule

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import in_words, quoted, story


class CollectiveOnBackendWithoutDevice(OperationRule):
    """
    ## What it does
    Reports a collective operation of `torch.distributed`, or a `DistributedDataParallel`, with a value on the CPU
    although the process group has only the backend `nccl`. If `init_process_group` names no backend, PyTorch chooses
    `nccl` on a machine with a GPU.

    ## Why is this bad
    NCCL exchanges CUDA tensors only. It cannot reduce a loss, a count or a flag on the CPU. A program finds that out on
    the first machine with several GPUs, because no other machine runs this code.

    ## Example

        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl", rank=0, world_size=1)
        count = torch.tensor(3.0)
        dist.all_reduce(count)  # error: [collective-on-backend-without-device] "`count` is on cpu"

    ## Use instead

        import torch
        import torch.distributed as dist

        dist.init_process_group("nccl", rank=0, world_size=1)
        count = torch.tensor(3.0, device="cuda")
        dist.all_reduce(count)

    ## Fix safety
    No fix is offered: either the tensor moves or the program names a second backend, and devlint cannot know which.

    ## Known limits
    devlint knows the backend only if `init_process_group` is called earlier in the same function, in a function that
    this function calls, or at the top of the file. It follows only the default process group, so it does not report a
    collective with a `group`. It does not report `gloo`, which accepts CUDA tensors for some operations in some builds.

    ## PyTorch says
    RuntimeError: No backend type associated with device type cpu
    """

    code = "DEV403"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (BackendMismatch,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.operation)} {broken.fails}: its backend cannot send a tensor on {broken.culprit.where}"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports what the backend cannot reach at the node."""
        for mismatch in self.facts_of(node, BackendMismatch):
            backend = f"the backend {quoted(mismatch.backend or 'nccl')}"
            if mismatch.device is None:
                message = f"{backend} needs a CUDA device, but this machine has none"
                advice = "choose the backend by `torch.cuda.is_available()`, with `gloo` for machines without"
            else:
                name, where = quoted(mismatch.name), in_words(mismatch.device)
                chosen = "" if mismatch.backend else ", which PyTorch chooses beside a GPU,"
                message = f"{name} is on {where}, but {backend}{chosen} takes CUDA tensors only"
                advice = 'move it to the device of this process first, or use the backend "cpu:gloo,cuda:nccl"'
            self.report(node, message, related=story(mismatch.related), pytorch=mismatch.message, advice=advice)
