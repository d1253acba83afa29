"""loss-or-metric-state-not-moved: the state of a loss or metric stayed on the CPU."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, quoted


class LossOrMetricStateNotMoved(ConflictRule):
    """
    ## What it does
    Reports a call of a loss or metric with weights or counters on the CPU, if the tensors of the call are elsewhere or
    follow an argument.

    ## Why is this bad
    `nn.CrossEntropyLoss(weight=…)`, `nn.BCEWithLogitsLoss(pos_weight=…)` and every metric that counts hold tensors of
    their own. A move of the network does not move them: a loss is a separate module and needs its own move.

    ## Example

        import torch
        from torch import nn

        logits = torch.randn(8, 3, device="cuda:0")
        labels = torch.zeros(8, dtype=torch.long, device="cuda:0")
        criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 4.0]))
        loss = criterion(logits, labels)  # error: [loss-or-metric-state-not-moved] "criterion"

    ## Use instead

        import torch
        from torch import nn

        logits = torch.randn(8, 3, device="cuda:0")
        labels = torch.zeros(8, dtype=torch.long, device="cuda:0")
        criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 4.0])).to(logits.device)
        loss = criterion(logits, labels)

    ## Fix safety
    Moving the loss at the call is unsafe: the author may prefer to create its weights on the device, once.

    ## Known limits
    Classes of the program count as losses and metrics if they are called so (`FocalLoss`, `AccuracyMetric`) or derive
    from one. Weights that are passed to a function such as `F.cross_entropy` are reported as
    `mixed-device-operands`.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got weight is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)
    """  # noqa: E501

    code = "DEV108"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.CRITERION_STATE

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.call)} {broken.fails}: its weights stay on the CPU"
