"""device-tensor-for-cpu-argument: an argument that must be on the CPU is elsewhere."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class DeviceTensorForCpuArgument(ConflictRule):
    """
    ## What it does
    Reports a tensor on an accelerator where PyTorch takes one on the CPU only: the lengths of
    `pack_padded_sequence`, the indices of `tensor_split`, the tensor of `pin_memory`.

    ## Why is this bad
    "Everything on one device" is the rule that programs are written by, and these few arguments are exceptions
    to it. Moving them along with the rest of a batch raises.

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
    Safe: `.cpu()` returns the tensor itself in every run that passes the line. For `pin_memory` no fix is offered: the
    tensor has to be pinned before it is moved.

    ## Known limits
    A tensor that a caller hands in is reported only if something tells that it is on an accelerator in
    practice: it is an element of a batch that `forward` takes, or moved to a device that the program chooses.

    ## PyTorch says
    RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
    """

    code = "DEV107"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.CPU_ARGUMENT
