"""Whether PyTorch would let the tensors of an operator meet, and where its result would be.

Most operators follow one of the rules of `regimes`. The others compare devices by hand; each rule of `_BY_HAND` follows
the C++ source that it names. Their checks are made in PyTorch's order, since a program can see which one failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import torch
from torch.utils.weak import WeakIdKeyDictionary

from devlint_guard.rehearsal import distributed, mps, words
from devlint_guard.rehearsal.kinds import CUDA, MPS, XPU
from devlint_guard.rehearsal.labels import ANYWHERE, CPU, type_name
from devlint_guard.rehearsal.machine import MACHINE, wrapper
from devlint_guard.rehearsal.plans import Operand, Plan
from devlint_guard.rehearsal.unjudged import UNJUDGED
from devlint_guard.watch.regimes import Regime

Rule = Callable[[Plan, list[Operand]], torch.device]

# gpu_kernel() asserts that each operand is on the device, also where TensorIterator lets a 0-dim CPU tensor pass
# (aten/src/ATen/native/cuda: Loops.cuh, BinaryMiscOpsKernels.cu, Lerp.cu, LogAddExpKernel.cu, GcdLcmKernel.cu).
_NO_CPU_SCALARS: Final = frozenset({"logaddexp", "logaddexp2", "gcd", "lcm", "lerp"})

_register_hook: Any = torch.Tensor.register_hook
_returning: Any = WeakIdKeyDictionary()
"""The tensors whose gradients are moved to where they are."""


# Operators with a kernel for the CPU and none for CUDA or XPU (native_functions.yaml). The others of that kind are
# those that composite functions choose because the tensors are on the CPU.
_WITHOUT_KERNEL: Final = frozenset({"histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts"})


def is_composed(plan: Plan, operands: Sequence[Operand]) -> bool:
    """Whether an operator with tensors on several devices is made of others, which are judged instead."""
    if plan.composition is None or plan.is_packing:
        return False
    is_known = plan.name in _BY_HAND or plan.base in _BY_HAND or plan.base in _BY_ARGUMENTS
    return not is_known and len({one.device for one in operands if one.device != ANYWHERE}) > 1


def judge(plan: Plan, operands: list[Operand], args: Sequence[Any]) -> torch.device:
    """Return the device of the results of an operator.

    Args:
        plan: that of the operator.
        operands: the tensors of the call.
        args: its positional arguments.

    Raises:
        Exception: PyTorch would refuse to let the tensors meet; the exception has PyTorch's class and words.
    """
    definite = [one for one in operands if one.device != ANYWHERE]
    if plan.is_packing:
        return _packed(plan, operands)
    if not definite:
        return ANYWHERE
    if plan.is_collective and plan.base != "c10d::barrier":
        distributed.check(operands, args)
        return definite[0].device
    if any(one.device != CPU for one in definite):
        if MACHINE.kind is MPS:
            mps.check_kernel(plan)
        elif plan.base in _WITHOUT_KERNEL:
            raise words.no_kernel(plan.name, MACHINE.kind)
    if len({one.device for one in definite}) == 1:
        return definite[0].device
    if MACHINE.kind is MPS:
        mps.refuse(plan, definite)
    if plan.base in _BY_ARGUMENTS:
        return _BY_ARGUMENTS[plan.base](definite, args)
    rule = _BY_HAND.get(plan.name) or _BY_HAND.get(plan.base)
    if rule is None:
        rule = _foreach if plan.base.startswith("_foreach") else _BY_REGIME.get(plan.regime, _unknown)
    return rule(plan, definite)


def _unknown(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    devices = " and ".join(sorted({str(one.device) for one in operands}))
    UNJUDGED.note(f"{plan.name} takes tensors on {devices}")
    return _first_device(operands)


def _first_device(operands: Sequence[Operand]) -> torch.device:
    """Return the device of the first tensor that is not on the CPU."""
    return next((one.device for one in operands if one.device != CPU), CPU)


def _self_device(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Return the device of the first tensor; the others may be anywhere."""
    return operands[0].device


def _strict(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow torchgen's check: all tensors but those of other keyword arguments are on one device."""
    keywords = {one.name for one in plan.parameters if one.is_keyword}
    first, *others = [one for one in operands if one.argument not in keywords] or operands[:1]
    for one in others:
        if one.device != first.device:
            raise words.not_common(one.argument, one.device, first.device, plan.wrapper)
    return first.device


def _elementwise(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow TensorIterator.cpp, compute_types: one 0-dim input on the CPU may join tensors on a device."""
    common = _first_device(operands)
    if not plan.fit(operands):  # it says so before it compares devices
        return common
    scalars = 0
    for one in operands:
        is_scalar = not one.is_written and one.device == CPU != common and one.tensor.dim() == 0
        # "weight" is that of `lerp`.
        is_taken = plan.base not in _NO_CPU_SCALARS or one.argument == "weight" or MACHINE.kind is MPS
        if is_scalar and is_taken:
            scalars += 1
            if scalars > 1:
                words.refuse("Trying to pass too many CPU scalars to non-CPU kernel!")
            if one.tensor.requires_grad and one.tensor not in _returning:  # engine.cpp, validate_outputs
                _returning[one.tensor] = True
                _register_hook(one.tensor, lambda gradient: gradient.cpu())
        elif one.device != common:
            if is_scalar:
                _refuse_in_kernel(operands.index(one) + 1)
            raise words.two_devices(common, one.device)
    return common


def _refuse_in_kernel(number: int) -> NoReturn:
    """Follow cuda/Loops.cuh and xpu/sycl/Loops.h: a kernel refuses a 0-dim CPU tensor that it cannot read."""
    file, line, device = '"aten/src/ATen/native/cuda/Loops.cuh"', 118, "a CUDA device"
    if MACHINE.kind is XPU:
        file, line, device = '"xpu/sycl/Loops.h"', 646, "an XPU device"
    words.refuse(
        f"iter.device(arg).is_{MACHINE.name}() INTERNAL ASSERT FAILED at {file}:{line}, please report a bug to "
        f"PyTorch. argument {number}: expected {device} but found cpu"
    )


def _index(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow TensorAdvancedIndexingUtils.h: an index is on the CPU or with the tensor that is indexed."""
    own = operands[0].device
    if _are_too_many(operands):
        return own
    for one in operands:
        if one.argument == "indices" and one.device not in (CPU, own):
            words.refuse(f"indices should be either on cpu or on the same device as the indexed tensor ({own})")
    return own


def _are_too_many(operands: Sequence[Operand]) -> bool:
    """Whether there are more indices than dimensions, which is found first."""
    return sum(one.argument == "indices" for one in operands) > operands[0].tensor.dim()


def _index_put(operands: list[Operand], args: Sequence[Any]) -> torch.device:
    """Follow python_variable_indexing.cpp and TensorAdvancedIndexing.cpp, _index_put_impl_.

    Indices and values without dimensions are moved. Values are added by a kernel of its own (Indexing.cu,
    index_put_with_sort_kernel).
    """
    own = operands[0].device
    if _are_too_many(operands):
        return own
    is_added = len(args) > 3 and bool(args[3])
    for one in operands:
        if one.argument != "values" or one.device == own or not one.tensor.dim():
            continue
        if own != CPU and is_added and MACHINE.kind is not MPS:
            words.refuse(f"expected device {own} but got device {one.device} for value tensor")
        # One value for all places of a mask (TensorAdvancedIndexingUtils.h, canDispatchToMaskedFill).
        masks = [index for index in operands if index.argument == "indices"]
        is_masked = len(masks) == 1 and masks[0].device == own and masks[0].tensor.dtype in (torch.bool, torch.uint8)
        if not (is_masked and one.device == CPU != own and one.tensor.numel() == 1):
            raise words.two_devices(*((own, one.device) if own != CPU else (one.device, own)))
    return own


def _same(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow TensorIterator.cpp where no operand may be elsewhere."""
    return _together(plan, operands) if plan.fit(operands) else _first_device(operands)


def _together(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    common = _first_device(operands)
    for one in operands:
        if one.device != common:
            raise words.two_devices(common, one.device)
    return common


def _masked_fill(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow Indexing.cu, masked_fill__cuda, and TensorAdvancedIndexing.cpp for the CPU."""
    own = operands[0].device
    named = {one.argument: one.device for one in operands}
    if own == CPU != named.get("value", CPU):
        words.refuse("masked_fill_: Expected inputs to be on same device")
    mask = named.get("mask", own)
    if mask != own:
        words.refuse(f"expected self and mask to be on the same device, but got mask on {mask} and self on {own}")
    return own


def _where(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow TensorCompare.cpp, where_self_out: the first device wins, and tensors without dimensions are moved."""
    named = {one.argument: one for one in operands}
    ordered = [named[name] for name in ("condition", "self", "other") if name in named]
    common = _first_device(ordered)
    if ordered[0].argument == "condition" and ordered[0].tensor.dtype not in (torch.bool, torch.uint8):
        return common
    for one in (*(one for one in operands if one.is_written), *ordered):
        if one.device != common and (one.tensor.dim() or one.is_written):
            raise words.two_devices(common, one.device)
    return common


def _logical(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow BinaryOps.cpp, logical_and: the result is made where the first operand is, before the comparison."""
    if operands[0].device == CPU and not operands[0].is_written:
        other = next(one.device for one in operands if one.device != CPU)
        raise words.two_devices(other, CPU)
    return _elementwise(plan, operands)


def _addcmul(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow PointwiseOpsKernel.cu: of the three tensors only the last may be a number on the CPU."""
    if plan.base == "addcdiv":
        return _same(plan, operands)
    common = _elementwise(plan, operands)
    if not plan.fit(operands) or MACHINE.kind is MPS:
        return common
    for one in operands:
        if one.argument in ("self", "tensor1") and one.device == CPU != common:
            advice = "CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms."
            words.refuse(
                f"CPU Scalar support for {one.argument} argument is not supported when calling addcmul on "
                f"{MACHINE.kind.key} tensors." + (f" However, {advice}" if one.argument == "tensor1" else "")
            )
    return common


def _where_the_first_is(refusal: Callable[[int, Operand, torch.device], Exception]) -> Rule:
    """Return the rule that all tensors are where the first one is.

    Args:
        refusal: returns the exception for the first other tensor, by its position, itself, and the device of the first.
    """

    def rule(plan: Plan, operands: Sequence[Operand]) -> torch.device:
        own = operands[0].device
        for position, one in enumerate(operands):
            if one.device != own:
                raise refusal(position, one, own)
        return own

    return rule


def _foreach(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow ForeachOpsKernels.cpp: lists on several devices are computed one after the other, each for itself."""
    lists: dict[str, list[Operand]] = {}
    for one in operands:
        lists.setdefault(one.argument, []).append(one)
    length = len(next(iter(lists.values())))
    for position in range(length):
        met = [group[position] for group in lists.values() if len(group) == length]
        if len({one.device for one in met}) > 1:
            _elementwise(plan, met)
    return _first_device(operands)


def _convolution(operands: list[Operand], args: Sequence[Any]) -> torch.device:
    """Follow Convolution.cpp, check_input_same_type_as_parameters, and the check of the kernel behind it."""
    first, kind = operands[0], MACHINE.kind
    is_mkldnn = first.device == CPU and kind is not MPS and "Mkldnn" in str(_select_backend(*args))
    advice = " or input should be a MKLDNN tensor and {} is a dense tensor" if is_mkldnn else ""
    if is_mkldnn or (first.device.type == kind.name and kind is not XPU):
        for one in operands[1:]:
            if one.device.type != first.device.type:
                words.refuse(
                    f"Input type ({type_name(first.tensor)}) and {one.argument} type ({type_name(one.tensor)}) should "
                    "be the same" + advice.format(one.argument)
                )
    for one in operands:
        if one.device != first.device:
            kernel = wrapper(_convolution_kernel(first, args)) if kind is CUDA else ""
            raise words.not_common(one.argument, one.device, first.device, kernel)
    return first.device


def _convolution_kernel(first: Operand, args: Sequence[Any]) -> str:
    """Return the name of the kernel in a CUDA build with cuDNN (Convolution.cpp, select_conv_backend)."""
    channels, dimensions, is_transposed, groups = first.tensor.shape[1], first.tensor.dim() - 2, args[6], args[8]
    if first.device == CPU:
        if is_transposed:
            return "_slow_conv_transpose3d" if dimensions > 2 else "slow_conv_transpose2d"
        if dimensions > 2:
            raise words.no_kernel("slow_conv3d_forward", CUDA)
        return "__slow_conv2d_forward"
    if is_transposed:
        return "_cudnn_convolution_transpose"
    if channels == groups > 1 and not args[1].shape[0] % channels:
        return "_conv_depthwise3d" if dimensions > 2 else "__conv_depthwise2d"
    return "_cudnn_convolution"


_select_backend: Any = getattr(torch._C, "_select_conv_backend", lambda *args: "")


def _matrix_with_vector(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow Blas.cpp, mv: the result is made where the vector is, and the check of `addmv_` speaks."""
    matrix, vector = operands[0], operands[-1]
    if not matrix.tensor.dim():
        return vector.device
    raise words.not_common("mat", matrix.device, vector.device, wrapper("addmv_"))


def _solve(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow LinearAlgebraUtils.h, linearSolveCheckInputs."""
    right, matrix = operands[0], operands[-1]
    if right.tensor.dim() > 1 < matrix.tensor.dim():
        words.refuse(
            f"Expected b and A to be on the same device, but found b on {right.device} and A on {matrix.device} "
            "instead."
        )
    return right.device


def _packed(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow PackedSequence.cpp: the lengths are on the CPU."""
    lengths = operands[-1]
    if lengths.device != CPU:
        words.refuse(f"'lengths' argument should be a 1D CPU int64 tensor, but got 1D {lengths.device} Long tensor")
    return operands[0].device


def _searchsorted(plan: Plan, operands: Sequence[Operand]) -> torch.device:
    """Follow BucketizationUtils.h, searchsorted_pre_check."""
    common = _strict(plan, operands)
    for one in operands:
        if one.argument == "sorter" and one.device != common:
            words.refuse(
                "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor "
                f"device type {one.device} and input value tensor device type {common}"
            )
    return common


_BY_REGIME: Final[dict[Regime, Rule]] = {
    Regime.STRICT: _strict,
    Regime.ELEMENTWISE: _elementwise,
    Regime.INDEX: _index,
}

_NAMES: Final[dict[Rule, str]] = {
    _self_device: "copy _copy_from _to_copy fill _ctc_loss _ctc_loss_backward _local_scalar_dense resize_as"
    " linspace logspace",
    # Resize.h, checkSetStorage
    _where_the_first_is(lambda _, one, own: words.other_storage(own, one.device)): "set",
    _index: "index",
    # TensorAdvancedIndexing.cpp, index_fill_: the value is moved, the index is not.
    lambda plan, operands: _together(plan, [one for one in operands if one.argument != "value"]): "index_fill",
    _logical: "logical_and logical_or logical_xor",
    _addcmul: "addcmul addcdiv",
    _same: "mse_loss smooth_l1_loss binary_cross_entropy",
    lambda plan, operands: _elementwise(plan, operands[::-1]): "rsub",
    # TensorShape.cpp, block_diag
    _where_the_first_is(
        lambda position, one, own: words.refusal(
            "torch.block_diag: input tensors must all be on the same device. "
            f"Input 0 is on device {own} and input {position} is on device {one.device}"
        )
    ): "block_diag",
    _masked_fill: "masked_fill",
    _where: "where",
    _together: "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_attention_math",
    _matrix_with_vector: "mv",
    # nested/NestedTensorUtils.h, wrap_tensor_node: the parts are concatenated.
    _where_the_first_is(
        lambda _, one, own: words.not_common("tensors", one.device, own, wrapper("cat"))
    ): "_nested_tensor_from_tensor_list",
    _solve: "cholesky_solve",
    _searchsorted: "searchsorted",
    # SegmentReduce.cpp, segment_reduce_kernel
    _where_the_first_is(
        lambda _, one, own: words.refusal(
            f"Expected data.get_device() == {one.argument}_value.get_device() to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    ): "segment_reduce",
}
_BY_HAND: Final = {name: rule for rule, names in _NAMES.items() for name in names.split()}
"""The rules by the name of an overload, or by the base name of an operator."""

_BY_ARGUMENTS: Final[dict[str, Callable[[list[Operand], Sequence[Any]], torch.device]]] = {
    "convolution": _convolution,
    "_index_put_impl": _index_put,
}
"""Rules that look at other arguments than tensors, by the base name of an operator."""
