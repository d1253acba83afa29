"""generator-on-other-device: a generator draws random numbers for another device."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class GeneratorOnOtherDevice(ConflictRule):
    """
    ## What it does
    Reports a `torch.Generator` that draws random numbers on a device of another type.

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
    Unsafe: the same seed gives other numbers on another device. A generator without a device gets one, and a
    `DataLoader` on a default device gets a generator of its own. Other generators get no fix.

    ## Known limits
    A generator of the caller may belong to any device; devlint checks it at the call. If a file creates a generator for
    a `DataLoader` on a device of the caller, devlint assumes that this device is the default of the program, because
    the loader draws nowhere else.

    ## PyTorch says
    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'
    """

    code = "DEV106"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.GENERATOR
