"""kept-tensor-indexed-by-argument: a CPU table is indexed with an argument of the caller."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class KeptTensorIndexedByArgument(ConflictRule):
    """
    ## What it does
    Reports `self.table[index]` with a table that the object has made on the CPU, and an index that the method is given
    and that nothing has put there. The rule is opt-in.

    ## Why is this bad
    Indices on the CPU select from anything, indices on an accelerator only from what is there too. The method works
    until the first caller hands over steps or labels that have been moved with the rest of a batch.

    ## Example

        import torch

        class Schedule:
            def __init__(self, steps: int) -> None:
                self.alphas = torch.linspace(1, 0, steps)

            def noise_level(self, steps: torch.Tensor) -> torch.Tensor:
                return self.alphas[steps]  # error: [kept-tensor-indexed-by-argument] "`self.alphas` is on cpu"

        Schedule(10).noise_level(torch.tensor([3, 5], device="cuda:0"))

    ## Use instead

        import torch

        class Schedule:
            def __init__(self, steps: int) -> None:
                self.alphas = torch.linspace(1, 0, steps)

            def noise_level(self, steps: torch.Tensor) -> torch.Tensor:
                return self.alphas.to(steps.device)[steps]

        Schedule(10).noise_level(torch.tensor([3, 5], device="cuda:0"))

    ## Fix safety
    As for `index-on-other-device`.

    ## Known limits
    An index without dimensions selects from any device, and where all callers are on the CPU, so is the index: hence
    the rule is opt-in. Where it is known that the index has dimensions, `index-on-other-device` reports it. An array of
    numpy in the place of the table is no better, and is reported where it may be a tensor as well.

    ## PyTorch says
    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)
    """

    code = "DEV115"
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    kind = ConflictKind.INDEX
    possible = True
