"""PyTorch's words: the exceptions that a machine with CUDA devices would raise.

PyTorch rewords its messages from time to time. The words here were compared with those of torch 2.13, and their parts
stand in the libraries of all releases in `KNOWN` (`tests.guard.rehearsal.worded`). In every other release a message
begins with "PyTorch would refuse", since its words may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import torch

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


def refusal(message: str, kind: type[Exception] = RuntimeError) -> Exception:
    """Return the exception for an operation that PyTorch refuses, with its message in a known release."""
    return kind(message if _is_known else f"PyTorch would refuse: {message}")


def refuse(message: str, kind: type[Exception] = RuntimeError) -> NoReturn:
    """Raise what `refusal` returns."""
    raise refusal(message, kind)


# --- the CUDA runtime (c10/cuda/CUDAException.cpp; torch/cuda/__init__.py, _lazy_init) ---


def invalid_ordinal() -> Exception:
    """Return the exception for the index of a device that is not there."""
    hint = "GPU device may be out of range, do you have enough GPUs?\n"
    return _CudaError(f"CUDA error: invalid device ordinal\n{hint}{_ASYNCHRONOUS}")


def no_devices() -> Exception:
    """Return the exception for the use of CUDA on a machine without devices."""
    return RuntimeError("No CUDA GPUs are available")


def started_in_fork() -> Exception:
    """Return the exception for the use of CUDA in a process forked from one that uses CUDA."""
    return RuntimeError(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method"
    )


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
    """Return what a legacy constructor raises for a tensor of another type or on another type of device.

    The words are those of torch/csrc/utils/tensor_new.cpp, legacy_tensor_generic_ctor_new.
    """
    wanted, found = (
        f"TensorOptions(dtype={_NAMES.get(one, one)}, device={at}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
        for one, at in ((dtype, torch.device(device.type)), (tensor_dtype, tensor_device))
    )
    return refusal(f"expected {wanted} (got {found})", TypeError)


# --- checks that many operators share ---


def not_common(argument: str, device: Any, common: Any, wrapper: str) -> Exception:
    """Return what the check in a generated wrapper raises (c10::impl::common_device_check_failure)."""
    return refusal(
        f"Expected all tensors to be on the same device, but got {argument} is on {device}, different from other "
        f"tensors on {common} (when checking argument in method {wrapper})"
    )


def two_devices(one: Any, other: Any) -> Exception:
    """Return what TensorIterator raises (aten/src/ATen/TensorIterator.cpp, compute_types)."""
    return refusal(f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!")


def too_many_cpu_scalars() -> Exception:
    """Return what TensorIterator raises for a second 0-dim CPU tensor beside CUDA tensors."""
    return refusal("Trying to pass too many CPU scalars to non-CPU kernel!")


def index_elsewhere(device: Any) -> Exception:
    """Return what indexing raises (aten/src/ATen/native/TensorAdvancedIndexingUtils.h)."""
    return refusal(
        f"indices should be either on cpu or on the same device as the indexed tensor ({device})",
    )


def other_storage(own: Any, source: Any) -> Exception:
    """Return what `Tensor.set_` raises (aten/src/ATen/native/Resize.h, checkSetStorage)."""
    return refusal(
        f'Attempted to set the storage of a tensor on device "{own}" to a storage on different device "{source}".  '
        "This is no longer allowed; the devices must match."
    )


def wrong_generator(wanted: str, found: str) -> Exception:
    """Return what a kernel raises for the generator of another type of device (ATen/core/Generator.h)."""
    return refusal(f"Expected a '{wanted}' device type for generator but found '{found}'")


def no_kernel(operator: str) -> Exception:
    """Return what the dispatcher raises for an operator without a kernel for CUDA (ATen/core/dispatch)."""
    return refusal(
        f"Could not run 'aten::{operator}' with arguments from the 'CUDA' backend. This could be because the operator "
        "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom "
        "build). If you are a Facebook employee using PyTorch on mobile, please visit "
        "https://fburl.com/ptmfixes for possible resolutions.",
        NotImplementedError,
    )
