"""host-access-of-device-tensor: numpy reads a tensor that is not on the CPU."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class HostAccessOfDeviceTensor(ConflictRule):
    """
    ## What it does
    Reports `.numpy()` of a tensor on an accelerator, and other ways to have numpy read one: `np.asarray(x)`,
    `np.sqrt(x)`, `x + array`, `array[0] = x`, plotting.

    ## Why is this bad
    Arrays of numpy are in the memory of the host. The conversion shares memory with a tensor on the CPU and
    raises for any other, so it works until the code first runs on an accelerator.

    ## Example

        import torch

        scores = torch.ones(3, device="cuda:0")
        best = scores.numpy().argmax()  # error: [host-access-of-device-tensor] "`scores` is on cuda:0"

    ## Use instead

        import torch

        scores = torch.ones(3, device="cuda:0")
        best = scores.cpu().numpy().argmax()

    ## Fix safety
    Safe for methods and operators: `.cpu()` returns the tensor itself in every run that passes the line. Unsafe for what
    numpy's functions are given, which may be a list of tensors as well.

    ## Known limits
    Much code converts tensors that never leave the host. Of a tensor that a caller hands in, a conversion is
    reported only if something tells that it is on an accelerator in practice: it is an input of `forward`, a
    parameter of a module, moved to a device that the program chooses, or `.detach()`-ed (not in a test, nor in code
    that prepares data by its name, nor beside `map_location="cpu"`, nor where something that is not followed is
    given a tensor on the CPU, nor of what is nested in a batch by keys). What library functions other than those of numpy, `matplotlib.pyplot` and
    `sklearn.metrics` convert is not known.

    ## PyTorch says
    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
    """  # noqa: E501

    code = "DEV105"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.HOST
