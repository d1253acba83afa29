"""Functions of PyTorch in C++ that compare devices before any operator is dispatched, or send tensors themselves.

Each check follows the C++ source that it names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import mps, words
from devlint_guard.rehearsal.kinds import CUDA, MPS
from devlint_guard.rehearsal.labels import ANYWHERE, CPU, label, seen_device
from devlint_guard.rehearsal.machine import MACHINE, current, wrapper
from devlint_guard.rehearsal.operators import doing
from devlint_guard.rehearsal.tensors import move, to

Check = Callable[..., None]


def install(replaced: Replacements) -> None:
    """Replace the functions of `torch` and the methods of `Tensor`."""
    for names, function in (
        (("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
        (("lstm_cell", "gru_cell"), _fused_cell),
    ):
        for name in names:
            replaced.around(torch, name, function)
            replaced.add(torch._VF, name, getattr(torch, name))
    for module in (torch._C._nn, torch.nn.functional):
        replaced.around(module, "scaled_dot_product_attention", _attention)
        if MACHINE.kind is MPS:
            replaced.around(module, "linear", _linear)
    replaced.around(torch, "ctc_loss", _with_numbers)
    replaced.around(torch.linalg, "matrix_rank", _with_own_result)
    for name in ("stft", "istft"):
        replaced.around(torch._VF, name, functools.partial(_with_window, name))
    for sends in (_scatter, _gather, _broadcast, _broadcast_coalesced) if MACHINE.kind is CUDA else ():
        replaced.add(torch._C, sends.__name__, sends)
    for name, (owners, check) in _CHECKS.items():
        for owner in owners:
            if hasattr(owner, name):
                replaced.around(owner, name, functools.partial(_behind, check))


def _behind(check: Check, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function after its check, which takes two tensors, or a list of tensors."""
    first = args[0] if args else None
    given = first if isinstance(first, (list, tuple)) else args[:2] if len(args) > 1 else ()
    if given and all(isinstance(one, Tensor) for one in given):
        check(*args)
    return function(*args, **kwargs)


def _take_along_dim(self: Tensor, indices: Tensor, *args: Any) -> None:
    """Follow TensorAdvancedIndexing.cpp, take_along_dim."""
    if label(self) != label(indices):
        words.refuse(
            f"Expected tensor to have {label(self)} Device, but got tensor with {label(indices)} Device (while "
            "checking arguments for torch.take_along_dim():)"
        )


def _quantile(self: Tensor, q: Tensor, *args: Any) -> None:
    """Follow Sorting.cpp, quantile_checks."""
    if label(self) != label(q):
        words.refuse("quantile() q tensor must be on the same device as the input tensor")


def _tensor_split(self: Tensor, indices: Tensor, *args: Any) -> None:
    """Follow TensorShape.cpp, tensor_split."""
    if self.dim() and label(indices) != CPU:
        words.refuse(f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {label(indices)}")


def _inner(self: Tensor, other: Tensor, *args: Any) -> None:
    """Follow Linear.cpp, inner."""
    own, found = label(self).type, label(other).type
    if own != found and "meta" not in (own, found):
        words.refuse(
            f"Expected tensor to have {own} DeviceType, but got tensor with {found} DeviceType (while checking "
            "arguments for inner())"
        )


def _multi_dot(tensors: Sequence[Tensor], *args: Any) -> None:
    """Follow LinearAlgebra.cpp, linalg_multi_dot, which compares dimensions first."""
    if any(one.dim() not in (1, 2) for one in tensors):
        return
    for position, one in enumerate(tensors):
        if label(one) != label(tensors[0]) and ANYWHERE not in (label(one), label(tensors[0])):
            words.refuse(
                f"multi_dot(): all tensors must be on the same device but tensor 0 is on {label(tensors[0])} and "
                f"tensor {position} on {label(one)}"
            )


def _meshgrid(tensors: Sequence[Tensor], *args: Any) -> None:
    """Follow TensorShape.cpp, meshgrid."""
    if len({label(one) for one in tensors} - {ANYWHERE}) > 1:
        words.refuse("meshgrid expects all tensors to have the same device")


def _cartesian_prod(tensors: Sequence[Tensor], *args: Any) -> None:
    """Follow Itertools.cpp, cartesian_prod."""
    if all(one.dim() == 1 for one in tensors):
        _meshgrid(tensors)


_METHODS = (torch, torch._VF, Tensor)
_CHECKS: dict[str, tuple[tuple[Any, ...], Check]] = {
    "inner": (_METHODS, _inner),
    "take_along_dim": (_METHODS, _take_along_dim),
    "quantile": (_METHODS, _quantile),
    "nanquantile": (_METHODS, _quantile),
    "tensor_split": (_METHODS, _tensor_split),
    "multi_dot": ((torch.linalg,), _multi_dot),
    "meshgrid": ((torch._VF,), _meshgrid),
    "cartesian_prod": ((torch._VF,), _cartesian_prod),
}
"""By the name of a function, the modules and classes that have it, and its check."""


def _recurrent(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Follow RNN.cpp, check_attributes, and the check of packed sequences before."""
    if len(args) > 3:
        is_packed = isinstance(args[3], (list, tuple))
        data, hidden, weights = args[0], args[2 if is_packed else 1], args[3 if is_packed else 2]
        own = label(data)
        for what, group in (("hidden", hidden), ("parameter", weights)):
            for one in tree_leaves(group):
                if isinstance(one, Tensor) and label(one) != own:
                    words.refuse(
                        f"Input and {what} tensors are not at the same device, found input tensor at {own} and {what} "
                        f"tensor at {label(one)}"
                    )
        if own.type == MACHINE.name:
            has_onednn = torch._C._get_mkldnn_enabled()
            torch._C._set_mkldnn_enabled(False)  # some of its kernels for the CPU refuse float16
            try:
                return function(*args, **kwargs)
            finally:
                torch._C._set_mkldnn_enabled(has_onednn)
    return function(*args, **kwargs)


def _fused_cell(
    function: Callable[..., Any], data: Tensor, hidden: Any, w_ih: Tensor, w_hh: Tensor, *biases: Any, **kwargs: Any
) -> Any:
    """Follow RNN.cpp: a cell on CUDA or XPU multiplies without the biases, and adds them in a kernel of its own."""
    states = hidden if isinstance(hidden, (list, tuple)) else (hidden,)
    if MACHINE.kind is MPS:  # it has no such kernel
        mps.check_linear((data, w_ih, *biases[:1]))
        mps.check_linear((states[0], w_hh, *biases[1:2]))
    elif label(data).type == MACHINE.name:
        for one, weight in ((data, w_ih), (states[0], w_hh)):
            if label(one) != label(weight):
                raise words.not_common("mat2", label(weight), label(one), wrapper("mm"))
        if len(states) > 1 and label(states[1]) != label(data):
            raise words.not_common("cx", label(states[1]), label(data), wrapper("__thnn_fused_lstm_cell"))
    return function(data, hidden, w_ih, w_hh, *biases, **kwargs)


def _linear(function: Callable[..., Any], input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if isinstance(input, Tensor) and isinstance(weight, Tensor):
        mps.check_linear((input, weight, bias))
    return function(input, weight, bias)


def _attention(
    function: Callable[..., Any], query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
) -> Any:
    """Follow transformers/attention.cpp, validate_sdpa_input."""
    devices = [label(one) for one in (query, key, value)]
    if len(set(devices)) > 1 and ANYWHERE not in devices:
        words.refuse(
            "Expected query, key, and value to have the same device type, but got query.device: {} key.device: {} "
            "and value.device: {} instead.".format(*devices)
        )
    own, has_math = seen_device(query), torch._C._get_math_sdp_enabled()
    if own.type == MACHINE.name:  # it stands for the backends of `sdpa_kernel` that the CPU does not have
        torch._C._set_sdp_use_math(True)
    try:
        with doing(home=own):  # the mask of `is_causal`
            return function(query, key, value, *args, **kwargs)
    finally:
        torch._C._set_sdp_use_math(has_math)


def _with_numbers(function: Callable[..., Any], log_probs: Tensor, targets: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Follow LossCTC.cpp: the lengths are read as numbers, wherever they are, and the targets are moved."""
    read = [one.flatten().tolist() if isinstance(one, Tensor) else one for one in args]
    kwargs = {name: one.flatten().tolist() if isinstance(one, Tensor) else one for name, one in kwargs.items()}
    own = seen_device(log_probs)
    with doing(home=own):
        return function(log_probs, to(targets, own), *read, **kwargs)


def _with_own_result(function: Callable[..., Any], input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Follow LinearAlgebra.cpp, matrix_rank_impl: the ranks of matrices without elements are made, and not computed."""
    with doing(home=seen_device(input)):
        return function(input, *args, **kwargs)


def _with_window(name: str, function: Callable[..., Any], self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Follow SpectralOps.cpp, stft."""
    window = next((one for one in (*args, kwargs.get("window")) if isinstance(one, Tensor)), None)
    if window is not None and label(window) != label(self):
        words.refuse(
            f"{name} input and window must be on the same device but got self on {label(self)} and window on "
            f"{label(window)}"
        )
    return function(self, *args, **kwargs)


# --- DataParallel (torch/csrc/cuda/comm.cpp) ------------------------------------------------------------------


def _scatter(
    tensor: Tensor, devices: Sequence[int], sizes: Sequence[int] | None = None, dim: int = 0, streams: Any = None
) -> tuple[Tensor, ...]:
    if not devices:
        words.refuse("Expected at least one device to scatter to")
    chunks = tensor.chunk(len(devices), dim) if sizes is None else tensor.split_with_sizes(list(sizes), dim)
    return tuple(to(chunk, index) for chunk, index in zip(chunks, devices, strict=False))


def _gather(tensors: Sequence[Tensor], dim: int, destination: int | None = None) -> Tensor:
    for position, tensor in enumerate(tensors):
        if label(tensor).type != "cuda":
            words.refuse(
                f"Expected all input tensors to be CUDA tensors, but tensor at index {position} has device "
                f"'{label(tensor)}'"
            )
    device = CPU if destination == -1 else torch.device("cuda", current() if destination is None else destination)
    return torch.cat([to(tensor, device) for tensor in tensors], dim)


def _broadcast(tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
    return [to(tensor, index) for index in devices]


def _broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[int], size: int = 0) -> list[list[Tensor]]:
    first = torch.device("cuda", devices[0])
    if any(label(tensor) != first for tensor in tensors):
        words.refuse(f"All tensors must be on devices[0]: {devices[0]}")
    others = [torch.device("cuda", index) for index in devices[1:]]
    return [list(tensors), *([move(tensor.detach(), device) for tensor in tensors] for device in others)]
