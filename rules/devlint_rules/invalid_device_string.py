"""invalid-device-string: PyTorch does not accept the given device."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import InvalidDevice
from devlint.rule import OperationRule

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import quoted


class InvalidDeviceString(OperationRule):
    """
    ## What it does
    Reports a device that PyTorch cannot parse: `"gpu"`, `"cuda0"`, `"cuda:0,1"`, `"CUDA"`, `"cuda:-1"`, `-1`. Reports
    also `.cuda("cpu")`, a second index (`torch.device("cuda:1", 1)`), the number `torch.cuda.device_count()`, which is
    one too high, and a device for a legacy constructor (`torch.FloatTensor(3, device="cuda")`), which accepts the CPU
    only.

    ## Why is this bad
    The line raises on every machine, however many devices it has.

    ## Example

        import torch

        x = torch.ones(3, device="cuda0")  # error: [invalid-device-string] "cuda0"

    ## Use instead

        import torch

        x = torch.ones(3, device="cuda:0")

    ## Fix safety
    No fix is offered: a wrong string does not say which device was meant.

    ## Known limits
    devlint checks a string from several parts only if it knows all of them. It reports a device of a legacy constructor
    that may be another than the CPU, even if every caller in other files passes the CPU.

    ## PyTorch says
    RuntimeError: Invalid device string: 'cuda0'
    """

    code = "DEV303"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (InvalidDevice,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        if not broken.culprit.where:
            return f"{quoted(broken.call)} does not exist: modules have no `device`"
        return f"`{broken.culprit.where}` is not a device: a device is one type and one number"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the invalid devices at the node."""
        for device in self.facts_of(node, InvalidDevice):
            text, advice = quoted(device.text), 'write a type and an optional number, such as "cpu", "cuda" or "cuda:1"'
            message = f"there is no device {text}"
            if "must be cuda device" in device.message:
                message, advice = f"`cuda` goes to CUDA devices only, not to {text}", f"write `.to({device.text})`"
            elif "legacy constructor" in device.message:
                message = f"`{device.text}` makes tensors on the CPU only"
                advice = "use `torch.tensor(values, device=…)`; for sizes, use `torch.empty(sizes, device=…)`"
            elif "device ordinal" in device.message:
                message = f"{text} is too large: device numbers end at `torch.cuda.device_count() - 1`"
                advice = "use a number below `torch.cuda.device_count()`"
            elif "index was passed explicitly" in device.message:
                message, advice = f"{text} gives the index twice", "remove one of the two"
            self.report(node, message, pytorch=device.message, advice=advice)
