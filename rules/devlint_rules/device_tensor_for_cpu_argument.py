"""device-tensor-for-cpu-argument: an argument that must be on the CPU is on another device."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import Conflict, ConflictKind, PinnedDeviceTensor

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, named, quoted


class DeviceTensorForCpuArgument(ConflictRule):
    """
    ## What it does
    Reports a tensor on an accelerator for an argument that must be on the CPU: the lengths of `pack_padded_sequence`,
    the indices of `tensor_split`, the `x` of `x.pin_memory()`.

    ## Why is this bad
    Programs follow the rule "everything on one device", and these few arguments are exceptions. They raise if they move
    along with the rest of a batch.

    ## Example

        import torch
        from torch.nn.utils.rnn import pack_padded_sequence

        batch = torch.ones(2, 3, 4, device="cuda:0")
        lengths = torch.tensor([3, 2], device="cuda:0")
        packed = pack_padded_sequence(batch, lengths, batch_first=True)  # error: [device-tensor-for-cpu-argument] "cpu"

    ## Use instead

        import torch
        from torch.nn.utils.rnn import pack_padded_sequence

        batch = torch.ones(2, 3, 4, device="cuda:0")
        lengths = torch.tensor([3, 2], device="cuda:0")
        packed = pack_padded_sequence(batch, lengths.cpu(), batch_first=True)

    ## Fix safety
    Safe: `.cpu()` returns the tensor itself in every run that passes the line today. `pin_memory` gets no fix, because
    the tensor must be pinned before it moves.

    ## Known limits
    devlint reports a parameter only with evidence that callers have it on an accelerator: it is an element of a batch
    that `forward` takes, or it moves to a device that the program chooses. `pin-device-tensor` reports
    `pin_memory=True` of a function that creates a tensor; this rule reports it only if `pin-device-tensor` is off.

    ## PyTorch says
    RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
    """

    code = "DEV107"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.CPU_ARGUMENT

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.operation)} {broken.fails}: {named(broken.culprit)} must be on the CPU"

    def is_for_another_rule(self, node: cst.CSTNode, conflict: Conflict) -> bool:
        """`pin-device-tensor` reports the creation of a pinned tensor: `torch.ones(3, device=…, pin_memory=True)`."""
        return bool(self.facts_of(node, PinnedDeviceTensor)) and conflict.operation == "pin_memory"
