"""input-not-on-module-device: a module and its input are on different devices."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, named, quoted


class InputNotOnModuleDevice(ConflictRule):
    """
    ## What it does
    Reports a call of a module whose parameters are on one device and whose input is on another.

    ## Why is this bad
    `module.to(device)` moves the module and nothing else. A batch of a DataLoader, the output of a tokenizer or a new
    tensor stays on the CPU until the program moves it, and the first layer raises.

    ## Example

        import torch
        from torch import nn

        net = nn.Linear(4, 2).to("cuda:0")
        batch = torch.randn(8, 4)
        out = net(batch)  # error: [input-not-on-module-device] "batch"

    ## Use instead

        import torch
        from torch import nn

        device = torch.device("cuda:0")
        net = nn.Linear(4, 2).to(device)
        batch = torch.randn(8, 4)
        out = net(batch.to(device))

    ## Fix safety
    Moving the input is safe: in every run that passes the line today, the input is on that device already. Moving the
    module is unsafe: the author may know a better place for the move.

    ## Known limits
    devlint does not report a module that moves its own inputs, that is spread over several devices, or that a library
    places with `device_map=`.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)
    """  # noqa: E501

    code = "DEV102"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.MODULE_INPUT

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        culprit, other = broken.culprit, broken.other
        if "the CPU" not in (culprit.where, other.where):
            places = f"{named(culprit)} is on {culprit.where}, {named(other)} on {other.where}"
            return f"{quoted(broken.call)} {broken.fails}: {places}"
        return f"{quoted(broken.call)} {broken.fails}: {named(culprit)} is not moved"
