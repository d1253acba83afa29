"""generator-on-other-device: a generator on another device than its random numbers."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class GeneratorOnOtherDevice(ConflictRule):
    """
    ## What it does
    Reports a `torch.Generator` that is used to draw random numbers on a device of another type than its own.

    ## Why is this bad
    `torch.Generator()` belongs to the CPU. Handing it to `torch.randn(…, device="cuda")` raises, and so does a
    generator of an accelerator where the numbers are drawn on the CPU, as samplers and `random_split` do.

    ## Example

        import torch

        generator = torch.Generator().manual_seed(0)
        noise = torch.randn(4, device="cuda:0", generator=generator)  # error: [generator-on-other-device] "cpu"

    ## Use instead

        import torch

        generator = torch.Generator(device="cuda:0").manual_seed(0)
        noise = torch.randn(4, device="cuda:0", generator=generator)

    ## Fix safety
    Unsafe: the same seed gives other numbers on another device. A generator that is made without a device gets one, and
    a `DataLoader` on a default device gets a generator of its own. Other generators get no fix.

    ## Known limits
    A generator that a caller hands in may be one for any device; it is checked where the caller is seen. Where a file
    makes a `DataLoader` a generator for a device of its caller, its functions are taken to be written for programs
    whose default device is that one, since nowhere else could the loader draw.

    ## PyTorch says
    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'
    """

    code = "DEV106"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.GENERATOR
