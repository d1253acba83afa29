"""CUDA kernels whose device behaviour is not "check, then compute": each follows the C++ source it names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tests.judge.pretended import recurrent_kernels
from tests.judge.pretended.checks import check_common_device
from tests.judge.pretended.kernels import compute
from tests.judge.pretended.machine import check_index, current_device, device_index
from tests.judge.pretended.operators import operator_name, operators
from tests.judge.pretended.relabel import (
    ATEN,
    CPU,
    adopt,
    as_kernel,
    set_geometry,
    to_cpu_label,
    to_cuda_label,
)

_EXPLICIT_COMPOSITE: Any = torch._C.DispatchKey.CompositeExplicitAutograd


def new_tensor_index(device: Any) -> int:
    """The CUDA index that a factory's `device` argument means, checked to exist."""
    if device is None or torch.device(device).type != "cuda":
        return current_device()
    index = device_index(torch.device(device))
    check_index(index)
    return index


def _copy(op: Any, self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """The one kernel whose tensors may be on two devices."""
    target = to_cpu_label(self) if self.is_cuda else self
    source = to_cpu_label(src) if src.is_cuda else src
    with as_kernel():
        ATEN.copy_.default(target, source, False)
    return self


def _masked_fill(op: Any, self: torch.Tensor, mask: torch.Tensor, value: Any) -> Any:
    """aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda."""
    if isinstance(value, torch.Tensor):
        if value.dim() != 0:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.dim()} dimension(s)."
            )
        if self.device.type == "cpu":
            raise RuntimeError("masked_fill_: Expected inputs to be on same device")
        value = value.item()
    if self.device != mask.device:
        raise RuntimeError(
            f"expected self and mask to be on the same device, but got mask on {mask.device} and self on {self.device}"
        )
    return compute(ATEN.masked_fill_.Scalar, (self, mask, value), {})


def _item(op: Any, self: torch.Tensor) -> Any:
    return to_cpu_label(self).item() if self.numel() == 1 else compute(op, (self,), {})


def _empty(op: Any, size: Sequence[int], **kwargs: Any) -> torch.Tensor:
    index = new_tensor_index(kwargs.get("device"))
    if kwargs.pop("pin_memory", None):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    with as_kernel():
        tensor = op(size, **{**kwargs, "device": CPU})
    return to_cuda_label(tensor, index)


def _empty_strided(op: Any, size: Sequence[int], stride: Sequence[int], **kwargs: Any) -> torch.Tensor:
    index = new_tensor_index(kwargs.get("device"))
    kwargs.pop("pin_memory", None)
    with as_kernel():
        tensor = op(size, stride, **{**kwargs, "device": CPU})
    return to_cuda_label(tensor, index)


def _resize(op: Any, self: torch.Tensor, size: Sequence[int], **kwargs: Any) -> Any:
    alias = to_cpu_label(self)
    room = self.untyped_storage().nbytes() // max(1, self.element_size())
    with as_kernel():
        if math.prod(size) + self.storage_offset() <= room:
            return set_geometry(
                self, self.untyped_storage(), self.storage_offset(), list(size), _contiguous_stride(size)
            )
        fresh = ATEN.empty.memory_format(list(size), dtype=self.dtype, device=CPU)
        flat = alias.reshape(-1)
        fresh.view(-1)[: flat.numel()].copy_(flat)
        adopt(self, fresh)
    return self


def _contiguous_stride(size: Sequence[int]) -> list[int]:
    return [math.prod(max(1, length) for length in size[i + 1 :]) for i in range(len(size))]


def _depthwise_convolution(
    op: Any,
    self: torch.Tensor,
    weight: torch.Tensor,
    kernel_size: Sequence[int],
    bias: torch.Tensor | None,
    *geometry: Any,
) -> torch.Tensor:
    """A CUDA-only operator: the grouped convolution that it computes, by the CPU's general kernel."""
    operator = operators()[operator_name(op)]
    check_common_device(op, operator, (self, weight, kernel_size, bias, *geometry), {})
    stride, padding, dilation = geometry
    with as_kernel(), torch.no_grad():
        cpu_bias = to_cpu_label(bias) if bias is not None and bias.is_cuda else bias
        image = to_cpu_label(self)
        zeros = [0] * len(kernel_size)
        result = ATEN.convolution.default(
            image, to_cpu_label(weight), cpu_bias, stride, padding, dilation, False, zeros, image.shape[1]
        )
    return to_cuda_label(result.contiguous(), self.device.index)


def _convolution(
    op: Any,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """aten/src/ATen/native/Convolution.cpp, check_input_same_type_as_parameters (the cuDNN backend)."""
    for what, tensor in (("weight", weight), ("bias", bias)) if input.is_cuda else ():
        if tensor is not None and (tensor.device.type != "cuda" or tensor.dtype != input.dtype):
            raise RuntimeError(f"Input type ({input.type()}) and {what} type ({tensor.type()}) should be the same")
    return op._op_dk(_EXPLICIT_COMPOSITE, input, weight, bias, *args, **kwargs)


def _softmax(op: Any, self: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """The CUDA kernel fuses the cast from half to float, the CPU kernel does not."""
    if not half_to_float:
        return compute(op, (self, dim, half_to_float), {})
    with as_kernel(), torch.no_grad():
        return to_cuda_label(op(to_cpu_label(self).float(), dim, False), self.device.index)


def _softmax_backward(op: Any, grad: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype) -> Any:
    check_common_device(op, operators()[operator_name(op)], (grad, output, dim, input_dtype), {})
    if grad.dtype == input_dtype:
        return compute(op, (grad, output, dim, input_dtype), {})
    with as_kernel(), torch.no_grad():
        result = op(to_cpu_label(grad), to_cpu_label(output), dim, grad.dtype).to(input_dtype)
    return to_cuda_label(result, grad.device.index)


def _plain(op: Any, *args: Any, **kwargs: Any) -> Any:
    return compute(op, args, kwargs)


def _no(op: Any, *args: Any, **kwargs: Any) -> bool:
    return False


def _nothing(op: Any, *args: Any, **kwargs: Any) -> None:
    return None


def _math_attention(op: Any, *args: Any, **kwargs: Any) -> int:
    """The number of the attention backend that consists of ordinary operators."""
    return 0


Kernel = Callable[..., Any]

SPECIAL_KERNELS: dict[str, Kernel] = {
    "copy_": _copy,
    "masked_fill_.Scalar": _masked_fill,
    "masked_fill_.Tensor": _masked_fill,
    "_local_scalar_dense": _item,
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "resize_": _resize,
    "record_stream": _nothing,
    "_fused_sdp_choice": _math_attention,
    "_thnn_fused_lstm_cell": recurrent_kernels.lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": recurrent_kernels.lstm_cell_backward,
    "_thnn_fused_gru_cell": recurrent_kernels.gru_cell,
    "_thnn_fused_gru_cell_backward": recurrent_kernels.gru_cell_backward,
    "_conv_depthwise2d": _depthwise_convolution,
    "conv_depthwise3d": _depthwise_convolution,
    "_softmax": _softmax,
    "_log_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _softmax_backward,
    "convolution": _convolution,
    "_convolution": _convolution,
    "pow.Scalar": _plain,
    "pow.Scalar_out": _plain,
    "_use_cudnn_ctc_loss": _no,
    "_use_cudnn_ctc_loss.Tensor": _no,
    "_use_miopen_ctc_loss": _no,
    "_use_miopen_ctc_loss.Tensor": _no,
}
