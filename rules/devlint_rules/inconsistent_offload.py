"""inconsistent-offload: a loop copies one result to the CPU but not another."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Label, Severity
from devlint.facts import PartialOffload
from devlint.rule import OperationRule

from devlint_rules.support.messages import TWO_DEVICES_LATER, in_words, quoted, story


class InconsistentOffload(OperationRule):
    """
    ## What it does
    Reports a tensor that a loop collects in a list unchanged, if the same loop copies another tensor from the same
    device to the CPU and collects it in another list. The rule is opt-in.

    ## Why is this bad
    The collected values belong together: embeddings and their weights, predictions and their masks. After the loop, one
    half is on the CPU and the other half on the device. The memory of the device also fills up, which the copies should
    prevent.

    ## Example

        import torch

        def collect(batches: list[torch.Tensor]) -> torch.Tensor:
            rows, sizes = [], []
            for batch in batches:
                rows.append((batch * 2).cpu())
                sizes.append(batch.norm(dim=1))  # error: [inconsistent-offload] "batch.norm" later
            return torch.cat(rows) / torch.cat(sizes)[:, None]

        collect([torch.ones(2, 3, device="cuda:0")])

    ## Use instead

        import torch

        def collect(batches: list[torch.Tensor]) -> torch.Tensor:
            rows, sizes = [], []
            for batch in batches:
                rows.append((batch * 2).cpu())
                sizes.append(batch.norm(dim=1).cpu())
            return torch.cat(rows) / torch.cat(sizes)[:, None]

        collect([torch.ones(2, 3, device="cuda:0")])

    ## Fix safety
    No fix is offered: the program may want the other half on the device.

    ## Known limits
    devlint does not ask whether the two are ever combined. It does not report tensors without dimensions, and values
    whose devices are not known to be equal.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV113"
    former_names = ("offloaded-beside-kept",)
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    wants = (PartialOffload,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the values that are collected at the node."""
        for found in self.facts_of(node, PartialOffload):
            offloaded, kept = found.offloaded, found.kept
            there = in_words(kept.device)
            self.report(
                node,
                f"the loop collects {quoted(kept.name)} on {there}, but {quoted(offloaded.name)} on cpu",
                certainty=Certainty.POSSIBLE,
                labels=(Label(offloaded.place, "cpu"), Label(kept.place, there)),
                related=(*story(offloaded.trace, offloaded.name), *story(kept.trace, kept.name)),
                pytorch=TWO_DEVICES_LATER,
                advice=f"collect {quoted(f'{kept.name}.cpu()')}, or collect both without a copy to the CPU",
            )
