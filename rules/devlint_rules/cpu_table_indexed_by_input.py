"""cpu-table-indexed-by-input: a CPU table is indexed with a caller's argument."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class CpuTableIndexedByInput(ConflictRule):
    """
    ## What it does
    Reports `self.table[index]` if the object creates the table on the CPU and the index is an argument that nothing has
    moved to the CPU. The rule is opt-in.

    ## Why is this bad
    An index on the CPU selects from any tensor; an index on an accelerator selects only from a tensor on the same
    device. The method works until a caller passes steps or labels that moved with the rest of a batch.

    ## Example

        import torch

        class Schedule:
            def __init__(self, steps: int) -> None:
                self.alphas = torch.linspace(1, 0, steps)

            def noise_level(self, steps: torch.Tensor) -> torch.Tensor:
                return self.alphas[steps]  # error: [cpu-table-indexed-by-input] "`self.alphas` on cpu"

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
    An index without dimensions selects from any device. If all callers are on the CPU, the index is too. Therefore the
    rule is opt-in. If the index is known to have dimensions, `index-on-other-device` reports it. A numpy array instead
    of the table fails as well; devlint reports the line if the table may be either.

    ## PyTorch says
    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)
    """

    code = "DEV115"
    former_names = ("kept-tensor-indexed-by-argument",)
    severity = Severity.ERROR
    opt_in = True
    since = "0.1.0"
    kind = ConflictKind.INDEX
    possible = True
