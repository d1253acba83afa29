"""pin-device-tensor: `pin_memory=True` pins tensors that are not on the CPU."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import PinnedDeviceTensor
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, story


class PinDeviceTensor(OperationRule):
    """
    ## What it does
    Reports `pin_memory=True` of a DataLoader with a dataset or `collate_fn` that gives tensors on a GPU or on the
    device that the code names. Reports `pin_memory=True` also of a function that creates its result on such a device.

    ## Why is this bad
    Pinned memory is memory of the host, locked so that a GPU can copy from it. A tensor on a GPU cannot be pinned, and
    PyTorch raises; a loader raises with its first batch.

    ## Example

        import torch
        from torch.utils.data import DataLoader, TensorDataset

        dataset = TensorDataset(torch.ones(4, 2, device="cuda"))
        loader = DataLoader(dataset, pin_memory=True)  # error: [pin-device-tensor] "the dataset" later
        batches = list(loader)

    ## Use instead

        import torch
        from torch.utils.data import DataLoader, TensorDataset

        dataset = TensorDataset(torch.ones(4, 2))
        loader = DataLoader(dataset, pin_memory=True)
        batches = [batch.to("cuda", non_blocking=True) for (batch,) in loader]

    ## Fix safety
    No fix is offered: the author may keep the data on the CPU or remove `pin_memory`.

    ## Known limits
    devlint knows TensorDataset and the datasets of the program. `x.pin_memory()` of a tensor on a device is a different
    mistake, which `device-tensor-for-cpu-argument` reports.

    ## PyTorch says
    RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned
    """

    code = "DEV505"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (PinnedDeviceTensor,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports what cannot be pinned at the node."""
        for pinned in self.facts_of(node, PinnedDeviceTensor):
            where = in_words(pinned.device)
            self.report(
                node,
                f"{pinned.name} gives tensors on {where}, but `pin_memory` takes CPU tensors only",
                related=story(pinned.related),
                pytorch=pinned.message,
                advice="keep the tensors on the CPU and move them after they are pinned, or remove `pin_memory`",
            )
