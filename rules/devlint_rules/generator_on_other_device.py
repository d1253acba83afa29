"""generator-on-other-device: a generator draws random numbers for another device."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, quoted


class GeneratorOnOtherDevice(ConflictRule):
    """
    ## What it does
    Reports a `torch.Generator` on one type of device that draws random numbers for another type of device.

    ## Why is this bad
    `torch.Generator()` belongs to the CPU, and `torch.randn(…, device="cuda")` refuses it. A generator of an
    accelerator raises too if the numbers are drawn on the CPU, as in samplers and `random_split`.

    ## Example

        import torch

        generator = torch.Generator().manual_seed(0)
        noise = torch.randn(4, device="cuda:0", generator=generator)  # error: [generator-on-other-device] "cpu"

    ## Use instead

        import torch

        generator = torch.Generator(device="cuda:0").manual_seed(0)
        noise = torch.randn(4, device="cuda:0", generator=generator)

    ## Fix safety
    Unsafe: the same seed gives other numbers on another device. The fix adds `device=` to a generator without
    one, or passes a new generator to a `DataLoader`, if a default device is set. Other generators get no fix.

    ## Known limits
    If a generator is an argument, devlint checks it at the calls of the function. devlint does not report
    `DataLoader(rows, generator=torch.Generator(device=device))` if `device` is an argument. A loader draws only on the
    default device, so devlint assumes that `device` is the default device of the program.

    ## PyTorch says
    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'
    """

    code = "DEV106"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.GENERATOR

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.operation)} {broken.fails}: its generator is on {broken.culprit.where}"
