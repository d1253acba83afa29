"""unguarded-cuda-index: a numbered CUDA device is used without a check."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import LostIndex, UncheckedDevice

from devlint_rules.support.availability import checked
from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import in_words, index_of, quoted, story, used_here
from devlint_rules.support.scopes import SurroundedRule

_NONE = "No CUDA GPUs are available"
_TOO_FEW = "CUDA error: invalid device ordinal"

_NUMBERS = {2: "two", 3: "three", 4: "four"}


class UnguardedCudaIndex(SurroundedRule):
    """
    ## What it does
    Reports `"cuda:0"`, `"cuda:1"`, `.cuda(1)` and the like without a test of `torch.cuda.device_count()`,
    `torch.cuda.is_available()` or an equivalent before it. Reports also a bare `.cuda()` that brings a tensor back from
    the CPU after it came from another GPU than the current one, or from any GPU.

    ## Why is this bad
    The number belongs to one machine. The program raises on a machine with fewer devices; on a shared machine, it
    crowds the device that everybody hard-codes.

    ## Example

        import torch

        x = torch.ones(3, device="cuda:1")  # error: [unguarded-cuda-index] "cuda:1" on 1 device

    ## Use instead

        import torch

        if torch.cuda.device_count() > 1:
            x = torch.ones(3, device="cuda:1")
        else:
            x = torch.ones(3)

    ## Fix safety
    As for `unguarded-cuda`: the fix names the device that the program has chosen, or makes the choice once. A file with
    several CUDA devices gets a fix only if a variable holds one of them.

    ## Known limits
    An author who tests for a GPU has thought of other machines. So any test that decides about the use counts for every
    device: `torch.cuda.is_available()` for `"cuda:1"`, and `torch.cuda.device_count() > 1` for `"cuda:2"`, although
    neither proves that the device exists. A number from outside, such as `LOCAL_RANK`, is the launcher's choice, and
    devlint does not report it. Nor does it report a function or file whose name says that it is for CUDA.

    ## PyTorch says
    AcceleratorError: CUDA error: invalid device ordinal
    """

    code = "DEV302"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (UncheckedDevice, LostIndex)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        where = broken.culprit.where
        number = int(where.partition(":")[2])
        lacks = f"with fewer than {_NUMBERS.get(number + 1, number + 1)} GPUs" if number else "without a GPU"
        return f"{quoted(where)} is hard-coded: fails {lacks}"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the uses of a CUDA device with an index at the node."""
        for use in self.facts_of(node, UncheckedDevice):
            index = index_of(use.device)
            if index is None:
                continue
            place = self.place_of(node)
            text = quoted(use.text)
            if str(use.device) not in use.text:
                is_begun = use.text.startswith(("'", '"'))  # `"cuda:" + str(index)`
                text = f"{text} {'begins the name of' if is_begun else 'names'} {use.device}, which"
            if index == 0:
                needs, pytorch = "a CUDA device, and nothing has checked that there is one", _NONE
                test = "torch.cuda.is_available()"
            else:
                needs = f"{index + 1} CUDA devices, and nothing has checked that there are that many"
                pytorch = _TOO_FEW
                test = f"torch.cuda.device_count() > {index}"
            if use.available is not None:
                needs = f"{needs.partition(',')[0]}, and this machine has {use.available or 'none'}"
            fix = checked(use, place, self.syntax(), self.surroundings())
            self.report(
                node,
                f"{text} needs {needs}",
                related=used_here(use, place),
                pytorch=pytorch,
                advice=f"check `{test}` first, or take the device from a setting" if fix is None else fix.message,
                fix=fix,
            )
        for lost in self.facts_of(node, LostIndex):
            self.report(
                node,
                f"`.cuda()` moves {quoted(lost.name)} to the current GPU, but it came from {in_words(lost.device)}",
                related=story(lost.trace),
                advice="remember the device before the tensor leaves it, and use `.to(device)`",
            )
