"""cpu-tensor-in-device-code: a CPU tensor is combined with one that may be on a GPU."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule
from devlint_rules.support.headlines import Broken, named, quoted


class CpuTensorInDeviceCode(ConflictRule):
    """
    ## What it does
    Reports an operation that combines a tensor on the CPU with a tensor that follows an argument, a parameter or a
    buffer. Most often, the first tensor was created without a device.

    ## Why is this bad
    The code works in every test on the CPU and raises as soon as its input or its module is on an
    accelerator.

    ## Example

        import torch

        def scaled(x: torch.Tensor) -> torch.Tensor:
            return x * torch.ones(3)  # error: [cpu-tensor-in-device-code] "torch.ones(3)"

        scaled(torch.ones(3, device="cuda:0"))

    ## Use instead

        import torch

        def scaled(x: torch.Tensor) -> torch.Tensor:
            return x * torch.ones(3, device=x.device)

        scaled(torch.ones(3, device="cuda:0"))

    ## Fix safety
    Safe: the tensor moves to the device of the other value, or is created there; in every run that passes the line
    today, that is the CPU. If the tensor is created earlier and also used elsewhere, a device at its creation is an
    unsafe fix, because the other uses move with it.

    ## Known limits
    A parameter counts as a tensor if there is evidence: an annotation, its type in the docstring, an operation on
    tensors, an input of `forward`, or an attribute that the class of the parameter declares.

    A function that takes tensors is reported even if it is meant for the CPU only. Exceptions: its docstring mentions
    CPU tensors, all its calls in the same file pass CPU tensors, or it is one of these:

    * a function that collates batches, a method of a dataset, or a test;
    * a function that gives a module its first values (`__init__`, `reset_parameters`), or that serves the export to
      ONNX;
    * the call of an object that is not a module, with an argument named `img`;
    * a function in a file or package called `data`, `datasets`, `loader`, `preprocessing` or `augmentation`.

    devlint knows a default type of tensors (`torch.set_default_tensor_type`) in its own file only. It takes the
    operands of an operation whose result moves at once (`torch.cat([x, made]).to(device)`) to be on the CPU, and also a
    parameter called `state_dict`. It does not report a tensor without elements (`torch.empty(0)`) that only one path
    creates.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV103"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.CPU_MEETS_SYMBOLIC

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        how = "created on" if broken.culprit.how == "created" else "on"
        return f"{quoted(broken.operation)} {broken.fails}: {named(broken.culprit)} is always {how} the CPU"
