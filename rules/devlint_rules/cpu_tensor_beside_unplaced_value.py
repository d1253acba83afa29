"""cpu-tensor-beside-unplaced-value: a CPU tensor is combined with a value of unknown device."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class CpuTensorBesideUnplacedValue(ConflictRule):
    """
    ## What it does
    Reports a tensor that was created without a device, or is otherwise left on the CPU, if only on one path, where it
    first meets a value of which nothing says where it is, in a file that names a device somewhere, or goes by that of a
    tensor (`x.new_zeros(3)`), or if it was made with the dtype of another tensor; one that a module hands to a part of
    which nothing is known, beside one that moves; and one that a loss of which nothing is known (`criterion`,
    `self.loss_fn`) is to compare with what was computed. The rule is opt-in.

    ## Why is this bad
    The result of a call, an attribute that others fill, an entry of a batch: what a program computes with is mostly
    where its model is. Code that goes by a device elsewhere, and forgets it here, works in every test on the CPU.

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
    No fix is offered: whether the other value is a tensor, and has a device to go by, is not written in the code.

    ## Known limits
    The other value may be on the CPU too, or no tensor at all, which is why the rule is opt-in: it is for audits. Where
    the other value is known to follow something, `cpu-tensor-in-device-code` reports it. A function that is given
    something called a loader, or whose object keeps one, is taken to get batches on the CPU from it, unless it reads
    entries of them by key. A module that is given one part of a batch as it is, where another part is moved, may hand
    its inputs out to replicas, as `DataParallel` does, and nobody sees that here; text and lengths are told by their
    names. What was put on the CPU on purpose is left out, and so are tensors without dimensions and functions whose
    documentation speaks of the host.

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
