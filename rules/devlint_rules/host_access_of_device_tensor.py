"""host-access-of-device-tensor: numpy reads a tensor that is, or probably is, on a GPU."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, quoted


class HostAccessOfDeviceTensor(ConflictRule):
    """
    ## What it does
    Reports `.numpy()` on a tensor on an accelerator, and other operations in which numpy reads such a tensor:
    `np.asarray(x)`, `np.sqrt(x)`, `x + array`, `array[0] = x`, plotting. If only callers decide on the device, the rule
    reports a tensor that is probably on an accelerator, such as an input of `forward`.

    ## Why is this bad
    numpy arrays are in the memory of the host. `.numpy()` shares the memory of a CPU tensor and raises for any other,
    so the code works until it first runs on an accelerator.

    ## Example

        import torch

        scores = torch.ones(3, device="cuda:0")
        best = scores.numpy().argmax()  # error: [host-access-of-device-tensor] "`scores` is on cuda:0"

    ## Use instead

        import torch

        scores = torch.ones(3, device="cuda:0")
        best = scores.cpu().numpy().argmax()

    ## Fix safety
    Safe for methods and operators: where the line works today, `.cpu()` returns the tensor itself. Unsafe
    for arguments of numpy functions, because such an argument may also be a list of tensors.

    ## Known limits
    Much code converts tensors that never leave the host. devlint reports the conversion of a value only if something
    shows that the value may be on an accelerator: it is an input of `forward`, a weight of a module, a value that moves
    to a device of the program, or a value on which the code calls `.detach()`. devlint does not report:

    * tests, and functions whose name says that they prepare data;
    * functions that use `map_location="cpu"`, and functions that pass a CPU tensor to a function that devlint does not follow;
    * a value with several keys of a batch, such as `batch["a"]["b"]`.

    devlint knows the conversions of numpy, `matplotlib.pyplot` and `sklearn.metrics`, and of no other library.

    ## PyTorch says
    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
    """  # noqa: E501

    code = "DEV105"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.HOST
    possible = False

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.call)} {broken.fails}: it reads CPU memory only"
