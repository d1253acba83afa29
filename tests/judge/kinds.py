"""Tells device errors from other exceptions, and the kinds of device error apart, by their message."""

from __future__ import annotations

import re

# The first kind with a pattern that occurs in "ExceptionType: message" is it.
_PATTERNS: dict[str, tuple[str, ...]] = {
    "numpy": (r"can't convert \S+ device type tensor to numpy",),
    "mixed": (
        r"Expected all tensors to be on the same device",
        r"to be on the same device",
        r"on same device",
        r"tensors are not at the same device",
        r"must (all )?be on the same device",
        r"need to be on the same device",
        r"have the same device",
        r"expected to be in the same device",
        r"indices should be either on cpu or on the same device",
        r"expected device \S+ but got device",
        r"Trying to pass too many CPU scalars",
        r"not on the expected device",
        r"found two different devices",
        r"Expected tensor .* on device",
        r"Input type \(.*\) and (weight|bias) type \(.*\) should be the same",
        r"expects device type",
        r"device type: \S+ was passed",
        r"same device type",
        r"expected TensorOptions\(.*device=",
        r"Expected '?out'? tensor to have device",
        r"All tensors must be on devices\[0\]",
        r"expected a CUDA device but found",
        r"get_device\(\) to be true",
        r"must be a CPU tensor",
        r"CPU tensor, but got tensor on",
    ),
    "grad": (
        r"attempting to assign a gradient with device type",
        r"assigned grad has data located on a different device",
        r"attempting to assign a gradient located on device",
        r"invalid gradient at index \d+ - expected device",
        r"expected device \S+ but got \S+",
        r"grad_output.*device",
        r"has changed the type of value \(was",
    ),
    "device-string": (
        r"Invalid device string",
        r"Expected one of cpu, cuda",
        r"Device index must not be negative",
        r"Device string must not be empty",
        r"device type at start of device string",
        r"Invalid device argument",
        r"Invalid device, must be cuda device",
        r"Device index must be",
        r"device index \S+ must be",
        r"must not include an index because index was passed",
    ),
    "ordinal": (
        r"invalid device ordinal",
        r"Invalid device id",
        r"Attempting to deserialize object on CUDA device \d+ but",
        r"device_index >= 0 && device_index < num_gpus",
    ),
    "no-cuda": (
        r"Torch not compiled with \w+ enabled",
        r"No CUDA GPUs are available",
        r"Found no NVIDIA driver",
        r"Attempting to deserialize object on a CUDA device but",
        r"not linked with support for cuda",
        r"type torch\.cuda\.\w+ not available",
        r"Cannot access accelerator",
        r"Cannot initialize CUDA without",
        r"PyTorch was compiled without CUDA support",
        r"has no attribute '_cuda_",
        r"with arguments from the '(MPS|XPU|HPU|MTIA|XLA)' backend",
        r"The MPS backend is supported on",
        r"Tried to instantiate dummy base class",
        r"is only supported with GPUs",
    ),
    "parallel": (
        r"module must have its parameters and buffers on device",
        r"Expected a non cpu device",
        r"device_ids",
        r"Expected at least one device",
        r"DistributedDataParallel.*device",
        r"function not implemented for CPU tensors",
        r"reduce_add expects all inputs to be on GPUs",
    ),
    "cpu-required": (
        r"lengths. argument should be a 1D CPU int64 tensor",
        r"[oO]nly dense CPU tensors can be pinned",
        r"cannot pin ",
        r"should be a CPU tensor",
        r"must be on CPU",
        r"can only be called on CPU",
        r"Expected all tensors to be CPU",
    ),
    "generator": (r"device type for generator but found", r"Expected a '\w+' generator device"),
    "fork": (r"Cannot re-initialize CUDA in forked subprocess", r"CUDA error: initialization error"),
    "storage": (
        r"set the storage of a tensor on device",
        r"storage on different device",
        r"Attempted to set the storage",
        r"different device",
        r"incompatible tensor",
        r"have a different type of tensor",
    ),
    "meta": (
        r"Cannot copy out of meta tensor",
        r"meta tensors?\b.*cannot",
        r"cannot be called on meta tensors",
        r"Tensor on device meta is not",
    ),
    "collective": (
        r"No backend type associated with device type",
        r"Tensors must be CUDA and dense",
        r"does not support CPU",
        r"Tensor .*not on the same device",
    ),
    "autocast": (r"User specified an unsupported autocast device_type",),
    "cuda": (r"CUDA error",),
    "backend": (
        r"Could not run 'aten::\S+' with arguments from the 'CUDA' backend",
        r"to have (cpu|cuda\S*) Device",
        r"to be on cpu, but it's on",
        r"CPU Scalar support for",
    ),
}

KINDS = tuple(_PATTERNS)

_COMPILED = {kind: re.compile("|".join(patterns), re.DOTALL) for kind, patterns in _PATTERNS.items()}


def kind_of(exception: str, message: str) -> str | None:
    """The kind of a device error, None for an exception that is none.

    Args:
        exception: the name of the exception's type, qualified unless it is built in.
        message: its text.
    """
    text = f"{exception}: {message}"
    return next((kind for kind, pattern in _COMPILED.items() if pattern.search(text)), None)
