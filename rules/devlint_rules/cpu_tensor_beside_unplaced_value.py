"""cpu-tensor-beside-unplaced-value: a CPU tensor is combined with a value of unknown device."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class CpuTensorBesideUnplacedValue(ConflictRule):
    """
    ## What it does
    Reports a tensor that was created without a device, or stays on the CPU on some path, at its first combination with
    a value of unknown device. The rule is opt-in. It reports such a combination in three cases:

    * the file names a device or follows the device of a tensor (`x.new_zeros(3)`), or the CPU tensor has the dtype of
      another tensor;
    * a module passes the CPU tensor to an unknown submodule, together with a tensor that moves;
    * an unknown loss (`criterion`, `self.loss_fn`) compares the CPU tensor with a computed value.

    ## Why is this bad
    The result of a call, an attribute that other code fills, an entry of a batch: most values of a program are on the
    device of its network. Code that chooses a device elsewhere and forgets it here passes every test on the CPU.

    ## Example

        import torch

        class Scorer:
            def __init__(self, model, device: str) -> None:
                self.model = model
                self.device = device

            def score(self, rows: list[list[float]]) -> torch.Tensor:
                found = self.model(torch.tensor(rows, device=self.device))
                return torch.dot(found, torch.ones(2))  # error: [cpu-tensor-beside-unplaced-value] "found"

        Scorer(lambda x: x.sum(dim=1), "cuda:0").score([[1.0, 2.0], [3.0, 4.0]])

    ## Use instead

        import torch

        class Scorer:
            def __init__(self, model, device: str) -> None:
                self.model = model
                self.device = device

            def score(self, rows: list[list[float]]) -> torch.Tensor:
                found = self.model(torch.tensor(rows, device=self.device))
                return torch.dot(found, torch.ones(2, device=found.device))

        Scorer(lambda x: x.sum(dim=1), "cuda:0").score([[1.0, 2.0], [3.0, 4.0]])

    ## Fix safety
    No fix is offered: the code does not say whether the other value is a tensor with a device.

    ## Known limits
    The other value may be on the CPU too, or no tensor at all; therefore the rule is opt-in and serves audits. If the
    other value is known to follow an input, `cpu-tensor-in-device-code` reports the line.

    devlint assumes that a function with a loader as an argument or attribute gets CPU batches from it, unless it reads
    their entries by key. A module that gets one part of a batch moved and another part unmoved may pass its inputs to
    replicas, like `DataParallel`; devlint cannot see that. It recognises text and lengths by their names. It does not
    report tensors that the program puts on the CPU explicitly, tensors without dimensions, and functions whose
    documentation mentions the host.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got tensor is on cpu, different from other tensors on cuda:0
    """  # noqa: E501

    code = "DEV114"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    kind = ConflictKind.UNKNOWN_OPERAND
    possible = True
    fixes = False
