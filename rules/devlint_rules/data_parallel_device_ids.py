"""data-parallel-device-ids: `DataParallel`, its module and its device ids disagree."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import ParallelMisuse
from devlint.rule import OperationRule

from devlint_rules._wording import quoted, story

_PROBLEMS = {
    "module-elsewhere": "the module is on {module}, and DataParallel looks for it on {wanted}, the first of {ids}",
    "duplicate": "{ids} names a device twice: two replicas share it and wait for each other",
    "empty": "{ids} names no device to run on",
    "not-cuda": "{ids} names a device that is not a CUDA device",
    "beyond": "{ids} names a device that the machine does not have",
    "not-a-list": "{ids} is one device, DataParallel wants a list of them",
    "result-on-cpu": "the module returns a tensor on the CPU, DataParallel gathers results from CUDA devices only",
}


class DataParallelDeviceIds(OperationRule):
    """
    ## What it does
    Reports a `DataParallel` whose module is not on the first of its `device_ids`, and ids that are empty,
    named twice, not CUDA devices, more than the machine has, or not a list.

    ## Why is this bad
    DataParallel copies the module from `device_ids[0]` to the others. It does not move the module there, and
    says so only when it is called; on a machine with one GPU or none it says nothing at all. An id that stands
    there twice raises nothing: two replicas then share one device, which is slower than one. That is reported as
    a warning.

    ## Example

        import torch
        from torch import nn

        net = nn.Linear(4, 2).to("cuda:0")
        parallel = nn.DataParallel(net, device_ids=[1, 0])
        out = parallel(torch.randn(8, 4))  # error: [data-parallel-device-ids] "[1, 0]"

    ## Use instead

        import torch
        from torch import nn

        net = nn.Linear(4, 2).to("cuda:1")
        parallel = nn.DataParallel(net, device_ids=[1, 0])
        out = parallel(torch.randn(8, 4))

    ## Fix safety
    No fix is offered: moving the module and changing the ids are both possible.

    ## Known limits
    Ids that are computed, such as `range(torch.cuda.device_count())`, are not looked at beyond the first.

    ## PyTorch says
    RuntimeError: module must have its parameters and buffers on device cuda:1 (device_ids[0]) but found one of them on device: cuda:0
    """  # noqa: E501

    code = "DEV401"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (ParallelMisuse,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the misuses of a parallel wrapper at the node."""
        for misuse in self.facts_of(node, ParallelMisuse):
            if misuse.wrapper != "DataParallel":
                continue
            ids = quoted(misuse.ids) if misuse.ids else "all devices"
            self.report(
                node,
                _PROBLEMS[misuse.problem].format(ids=ids, module=misuse.module, wanted=misuse.wanted),
                severity=Severity.WARNING if misuse.problem == "duplicate" else self.severity,
                related=story(misuse.related),
                pytorch=misuse.message or None,
                advice=misuse.advice,
            )
