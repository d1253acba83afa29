"""cuda-in-test-for-any-gpu: a test that is meant for any GPU uses CUDA."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.rule import Rule

_DECORATOR = "requires_gpu"


class CudaInTestForAnyGpu(Rule):
    """
    ## What it does
    Reports `device="cuda"`, `device=torch.device("cuda")`, `with torch.device("cuda")` and `.cuda()` in a function with
    the decorator `requires_gpu()`. The rule is opt-in.

    ## Why is this bad
    The decorator runs the test on a GPU of any vendor, and without CUDA the test fails. PyTorch has this rule for its
    own tests.

    ## Example

        import unittest

        import torch


        def requires_gpu():
            return unittest.skipUnless(torch.accelerator.is_available(), "needs a GPU")


        @requires_gpu()
        def test_ones():
            torch.ones(3, device="cuda")  # error: [cuda-in-test-for-any-gpu] "requires_gpu" never

    ## Use instead

        import unittest

        import torch


        def requires_gpu():
            return unittest.skipUnless(torch.accelerator.is_available(), "needs a GPU")


        @requires_gpu()
        def test_ones():
            torch.ones(3, device=torch.accelerator.current_accelerator())

    ## Fix safety
    No fix is offered: PyTorch's tests have a constant for the device, others do not.

    ## Known limits
    devlint goes by words. It does not report `"cuda:0"`, `.to("cuda")` and other decorators.

    ## PyTorch says
    Nothing where there is CUDA; elsewhere AssertionError: Torch not compiled with CUDA enabled
    """

    code = "DEV703"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    mentions = _DECORATOR

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802
        """Reports the places in one test, those of functions inside of it too."""
        if not any(_is_for_any_gpu(decorator.decorator) for decorator in node.decorators):
            return
        for argument in self.syntax().within(node, cst.Arg):
            keyword = argument.keyword is not None and argument.keyword.value == "device"
            if keyword and (_is_cuda(argument.value) or _is_cuda_device(argument.value)):
                self._report(argument.value)
        for context in self.syntax().within(node, cst.WithItem):
            if _is_cuda_device(context.item):
                self._report(context.item)
        for call in self.syntax().within(node, cst.Call):
            if isinstance(call.func, cst.Attribute) and call.func.attr.value == "cuda":
                self._report(call.func.attr)

    def _report(self, node: cst.CSTNode) -> None:
        self.report(
            node,
            f"this needs CUDA, but `{_DECORATOR}` runs the test on a GPU of any vendor",
            advice="use `torch.accelerator.current_accelerator()`, or the constant that your tests have for the GPU",
        )


def _is_for_any_gpu(decorator: cst.BaseExpression) -> bool:
    match decorator:
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))):
            return name == _DECORATOR
        case _:
            return False


def _is_cuda(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.SimpleString) and node.evaluated_value == "cuda"


def _is_cuda_device(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="device")), args=[first, *_]):
            return _is_cuda(first.value)
        case _:
            return False
