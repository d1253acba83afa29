"""cpu-tensor-in-device-code: a CPU tensor is combined with an input or a module."""

from __future__ import annotations

from devlint.diagnostics import Severity
from devlint.facts import ConflictKind

from devlint_rules.support.conflict_rule import ConflictRule


class CpuTensorInDeviceCode(ConflictRule):
    """
    ## What it does
    Reports an operation in which a tensor that is always on the CPU, most often because it was created
    without a device, meets a tensor that follows an argument, a parameter or a buffer.

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
    Safe: the tensor is moved, or created, where the value it meets is, and that is where it already is in every run
    that passes the line. Where it is created earlier and used elsewhere too, giving it a device there is unsafe, for
    those uses move with it.

    ## Known limits
    A parameter counts as a tensor only if something proves it: an annotation, its type in the docstring, an operation
    on tensors, or being an input of `forward`; so does an attribute that the class of a parameter declares. Code that
    is meant to run on the CPU only is reported too when it takes tensors, unless its docstring speaks of CPU tensors
    or its name says so: it collates batches, is a method of a dataset, a test, gives a module its first values
    (`__init__`, `reset_parameters`), serves the export to ONNX, is what an object that is no module does with an
    `img` that it is called with, or stands in a module or package called `data`, `datasets`, `loader`,
    `preprocessing` or `augmentation`. Where all calls in the same file pass what is on the CPU, nothing is said.
    That a program sets the type of tensors by default (`torch.set_default_tensor_type`) is only known in its own file.
    What moves its result at once (`torch.cat([x, made]).to(device)`)
    has its operands on the CPU, and so has what was loaded: a parameter called `state_dict`. A tensor without elements
    on one path only (`torch.empty(0)`) holds the place of one that is not there, and is left out.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV103"
    severity = Severity.ERROR
    since = "0.1.0"
    kind = ConflictKind.CPU_MEETS_SYMBOLIC
