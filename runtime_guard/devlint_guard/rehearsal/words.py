"""PyTorch's words: the exceptions that a machine with devices would raise.

PyTorch rewords its messages from time to time. The words here were compared with those of torch 2.13, and their parts
stand in the libraries of all releases in `KNOWN` (`tests.guard.rehearsal.worded`). In every other release a message
begins with "PyTorch would refuse", since its words may differ. The same holds for operators on MPS with
unknown words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import torch

from devlint_guard.rehearsal.kinds import CUDA, MPS, XPU, Kind

KNOWN: Final = frozenset({(2, 11), (2, 12), (2, 13), (2, 14)})
"""The releases whose words these are."""

_release = tuple(int(part) for part in torch.__version__.split(".")[:2])
_is_known = _release in KNOWN

_ASYNCHRONOUS: Final = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)

_CudaError: Callable[[str], Exception] = getattr(torch, "AcceleratorError", RuntimeError)


def refusal(message: str, kind: type[Exception] = RuntimeError, *, is_known: bool = True) -> Exception:
    """Return the exception for an operation that PyTorch refuses, with its message if that is known."""
    return kind(message if is_known and _is_known else f"PyTorch would refuse: {message}")


def refuse(message: str, kind: type[Exception] = RuntimeError) -> NoReturn:
    """Raise what `refusal` returns."""
    raise refusal(message, kind)


# --- the drivers (c10/cuda/CUDAException.cpp; torch/cuda/__init__.py, _lazy_init; c10/xpu/XPUFunctions.cpp;
#     mps/EmptyTensor.cpp) ---


def invalid_ordinal(kind: Kind, index: int, count: int) -> Exception:
    """Return the exception for the index of a device that is not there."""
    if kind is XPU:
        return RuntimeError(f"The device index is out of range. It must be in [0, {count}), but got {index}.")
    hint = "GPU device may be out of range, do you have enough GPUs?\n"
    return _CudaError(f"CUDA error: invalid device ordinal\n{hint}{_ASYNCHRONOUS}")


NO_DEVICES: Final = {
    CUDA: "No CUDA GPUs are available",
    MPS: "The MPS backend is supported on macOS 14.0+. Current OS version can be queried using `sw_vers`",
    XPU: "No XPU devices are available.",
}
"""What is said of the use of a type of devices on a machine without devices."""


_NAMES: Final = {
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.float32: "float",
    torch.float64: "double",
    torch.int64: "long int",
    torch.int32: "int",
    torch.int16: "short int",
    torch.int8: "signed char",
    torch.uint8: "unsigned char",
    torch.bool: "bool",
}


def other_options(dtype: torch.dtype, device: Any, tensor_dtype: torch.dtype, tensor_device: Any) -> Exception:
    """Return what a legacy constructor raises for a tensor of another type or on another type of device."""
    wanted, found = (
        f"TensorOptions(dtype={_NAMES.get(one, one)}, device={at}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
        for one, at in ((dtype, torch.device(device.type)), (tensor_dtype, tensor_device))
    )
    return refusal(f"expected {wanted} (got {found})", TypeError)


def not_common(argument: str, device: Any, common: Any, wrapper: str) -> Exception:
    """Return what the check in a generated wrapper raises (c10::impl::common_device_check_failure).

    Without a wrapper, a check by hand raises it, in other words.
    """
    text = (
        f"Expected all tensors to be on the same device, but got {argument} is on {device}, different from other "
        f"tensors on {common}"
    )
    if not wrapper:
        return refusal(text, is_known=False)
    return refusal(f"{text} (when checking argument in method {wrapper})")


def two_devices(one: Any, other: Any) -> Exception:
    """Return what TensorIterator raises (aten/src/ATen/TensorIterator.cpp, compute_types)."""
    return refusal(f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!")


def other_storage(own: Any, source: Any) -> Exception:
    """Return what `Tensor.set_` raises (aten/src/ATen/native/Resize.h, checkSetStorage)."""
    return refusal(
        f'Attempted to set the storage of a tensor on device "{own}" to a storage on different device "{source}".  '
        "This is no longer allowed; the devices must match."
    )


def no_kernel(operator: str, kind: Kind) -> Exception:
    """Return what the dispatcher raises for an operator without a kernel for a type of devices.

    The words are those of ATen/core/dispatch; those of MPSFallback.mm and of XPUFallback.cpp go on with advice.
    """
    if kind is not CUDA:
        text = f"The operator 'aten::{operator}' is not currently implemented for the {kind.key} device. "
        return refusal(text, NotImplementedError)
    return refusal(
        f"Could not run 'aten::{operator}' with arguments from the 'CUDA' backend. This could be because the operator "
        "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom "
        "build). If you are a Facebook employee using PyTorch on mobile, please visit "
        "https://fburl.com/ptmfixes for possible resolutions.",
        NotImplementedError,
    )
