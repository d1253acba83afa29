"""The device checks of CUDA kernels: the one that torchgen generates, and those written by hand."""

from __future__ import annotations

from typing import Any

import torch

from tests.judge.pretended.operators import Operator, bound_arguments, operator_name, tensors_in

# Wrapper names of the kernels that a CUDA build picks where the CPU build picks another backend's.
_WRAPPERS_OF_CUDA_BUILD = {
    "wrapper_CUDA___slow_conv2d_forward": "wrapper_CUDA__cudnn_convolution",
    "wrapper_CUDA___slow_conv2d_backward": "wrapper_CUDA__convolution_backward",
}

# TensorIterator admits one 0-dim CPU operand, but these kernels launch a plain gpu_kernel(), which asserts
# that every operand is CUDA (aten/src/ATen/native/cuda: Loops.cuh, BinaryMiscOpsKernels.cu, Lerp.cu,
# LogAddExpKernel.cu, GcdLcmKernel.cu), or test by hand (addcmul, PointwiseOpsKernel.cu). The positions of the
# operands.
_NO_CPU_SCALAR = {
    "mse_loss.out": (0, 1),
    "smooth_l1_loss.out": (0, 1),
    "logaddexp.out": (0, 1),
    "logaddexp2.out": (0, 1),
    "gcd.out": (0, 1),
    "lcm.out": (0, 1),
    "lerp.Scalar_out": (0, 1),
    "lerp.Tensor_out": (0, 1),
    "addcmul.out": (0, 1),
}


def check_common_device(op: Any, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The check that torchgen puts into a CUDA wrapper: all tensor arguments on one device.

    Raises:
        RuntimeError: in the words of c10::impl::check_and_update_common_device.
    """
    pairs = bound_arguments(op, args, kwargs)
    outputs = [pair for pair in pairs if pair[0].is_out]
    inputs = [pair for pair in pairs if not pair[0].is_out and not pair[0].kwarg_only]
    common: torch.device | None = None
    for argument, value in outputs + inputs:
        for tensor in tensors_in(value):
            if common is None:
                common = tensor.device
            elif tensor.device != common:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but got {argument.name} is on "
                    f"{tensor.device}, different from other tensors on {common} (when checking argument in "
                    f"method {_wrapper_name(op, operator)})"
                )
    if common is not None:
        _check_keyword_tensors(operator, pairs, common)


def rename_wrapper(message: str) -> str:
    """Says the wrapper's name that a CUDA build would say."""
    for name, name_of_cuda_build in _WRAPPERS_OF_CUDA_BUILD.items():
        message = message.replace(name, name_of_cuda_build)
    return message


def check_cpu_scalars(op: Any, args: tuple[Any, ...]) -> None:
    """Raises for a 0-dim CPU operand that TensorIterator let pass and the kernel cannot take."""
    name = operator_name(op)
    for position in _NO_CPU_SCALAR.get(name, ()):
        value = args[position] if position < len(args) else None
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            continue
        if name != "addcmul.out":
            raise RuntimeError(
                "iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at "
                '"aten/src/ATen/native/cuda/Loops.cuh":118, please report a bug to PyTorch. '
                f"argument {position + 1}: expected a CUDA device but found cpu"
            )
        which = ("self", "tensor1")[position]
        advice = " However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms."
        raise RuntimeError(
            f"CPU Scalar support for {which} argument is not supported when calling addcmul on CUDA tensors."
            + (advice if position else "")
        )


def _check_keyword_tensors(operator: Operator, pairs: list[tuple[Any, Any]], common: torch.device) -> None:
    """Tests what the generated check leaves to the kernels (Bucketization.cpp, SegmentReduce.cpp)."""
    for argument, value in pairs:
        if not argument.kwarg_only or argument.is_out:
            continue
        for tensor in tensors_in(value):
            if tensor.device == common:
                continue
            if operator.base == "searchsorted":
                raise RuntimeError(
                    "torch.searchsorted(): boundary and sorter must have same device type, but got boundary "
                    f"tensor device type {common} and sorter tensor device type {tensor.device}"
                )
            raise RuntimeError(
                f"{operator.base}: expected {argument.name} to be on the same device as the other tensors, "
                f"but got {tensor.device} and {common}"
            )


def _wrapper_name(op: Any, operator: Operator) -> str:
    """The name of the generated C++ function, which is part of the message."""
    is_out = any(argument.is_out for argument in op._schema.arguments)
    base = operator.base + ("_out" if is_out else "")
    if operator.is_structured:
        return f"wrapper_CUDA_{base}" + (f"_{operator.overload}" if operator.overload else "")
    return f"wrapper_CUDA_{operator.overload}_{base}"
