"""Puts the pretended kernels behind the CUDA dispatch key, and decides for each call which way it takes."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import torch

from tests.judge.pretended.checks import check_common_device, check_cpu_scalars, rename_wrapper
from tests.judge.pretended.generators import check_generator
from tests.judge.pretended.kernels import compute, tensors_for_numbers
from tests.judge.pretended.machine import MACHINE, check_fork, check_start
from tests.judge.pretended.operators import Operator, operator_name, operators, tensors_in
from tests.judge.pretended.relabel import CPU_KEY
from tests.judge.pretended.special_kernels import SPECIAL_KERNELS, new_tensor_index

# Kernels that only rewrite a tensor's geometry: the CPU's do that to a CUDA tensor just as well.
_GEOMETRY_ONLY = frozenset(
    {
        "as_strided",
        "view",
        "_reshape_alias",
        "unfold",
        "view_as_real",
        "view_as_complex",
        "set_.source_Tensor",
        "set_.source_Storage",
        "set_.source_Storage_storage_offset",
        "set_",
        "is_set_to",
        "_conj",
        "_neg_view",
        "alias",
        "detach",
        "_unsafe_view",
    }
)
_FACTORIES = frozenset({"empty.memory_format", "empty_strided"})

_Library: Any = torch.library.Library
_libraries: list[Any] = []
"""Registrations end when their Library is freed."""


def register_kernels() -> None:
    """Registers `_run` as the fallback for CUDA, and in place of kernels that would skip the device check.

    Structured kernels and composites of the CPU build serve CUDA tensors too. Where torchgen would have put a
    device check in front of one, the check must come first, so `_run` is registered for it.
    """
    fallback = _Library("_", "IMPL", "CUDA")
    fallback.fallback(_run)
    aten = _Library("aten", "IMPL")
    _libraries.extend([fallback, aten])
    for name, operator in operators().items():
        if _needs_registration(name, operator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                aten.impl(name, functools.partial(_run, operator.packet()), "CUDA")


def register_all() -> None:
    """Register `_run` also for the kernels of the CPU build that make the right checks by themselves."""
    aten = _Library("aten", "IMPL")
    _libraries.append(aten)
    for name, operator in operators().items():
        if operator.has_cuda and not operator.composites and not _needs_registration(name, operator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                aten.impl(name, functools.partial(_run, operator.packet()), "CUDA")


def _needs_registration(name: str, operator: Operator) -> bool:
    if name in SPECIAL_KERNELS:
        return True
    if not operator.has_cuda or operator.base.startswith("_foreach") or "sparse" in operator.base:
        return False
    if name in _GEOMETRY_ONLY:
        return True
    return (
        torch._C._dispatch_has_computed_kernel_for_dispatch_key(f"aten::{name}", "CUDA")
        and operator.is_checked
        and "CompositeImplicitAutograd" not in operator.composites
    )


def _run(op: Any, *args: Any, **kwargs: Any) -> Any:
    """One call of a CUDA kernel; a lenient machine computes as well what the checks refuse."""
    try:
        return _run_checked(op, *args, **kwargs)
    except RuntimeError:
        if not MACHINE.is_lenient or not _on_several_devices([*args, *kwargs.values()]):
            raise
        with torch.no_grad():
            result = compute(op, args, kwargs)
        return next((arg for arg in args if isinstance(arg, torch.Tensor) and _is_same(arg, result)), result)


def _on_several_devices(values: list[Any]) -> bool:
    return len({tensor.device for value in values for tensor in tensors_in(value)}) > 1


def _is_same(tensor: torch.Tensor, result: object) -> bool:
    """Whether an operator that changes its argument has returned that argument."""
    if not isinstance(result, torch.Tensor) or not tensor.numel():
        return False
    return tensor.data_ptr() == result.data_ptr() and tensor.shape == result.shape


def _run_checked(op: Any, *args: Any, **kwargs: Any) -> Any:
    name = operator_name(op)
    if name in _FACTORIES:
        check_start()
    check_fork()
    if name in _GEOMETRY_ONLY:
        return op._op_dk(CPU_KEY, *args, **kwargs)
    special = SPECIAL_KERNELS.get(name)
    if special is not None:
        return special(op, *args, **kwargs)
    operator = operators().get(name)
    if operator is not None:
        if not operator.has_cuda:
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the 'CUDA' backend. This could be because "
                "the operator doesn't exist for this backend, or was omitted during the selective/custom "
                "build process (if using custom build)."
            )
        if operator.is_checked:
            _check(op, operator, args, kwargs)
        elif operator.has_cpu:
            args = tuple(tensors_for_numbers(op, args))
            is_done, result = _try_shared_kernel(op, args, kwargs)
            if is_done:
                return result
            check_cpu_scalars(op, args)
    device = kwargs.get("device")
    is_new_on_cuda = device is not None and torch.device(device).type == "cuda"
    with torch.no_grad():
        return compute(op, args, kwargs, new_tensor_index(device) if is_new_on_cuda else None)


def _check(op: Any, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        check_common_device(op, operator, args, kwargs)
    except RuntimeError as error:
        is_on_cuda = isinstance(args[0], torch.Tensor) and args[0].is_cuda
        raise RuntimeError(rename_wrapper(str(error)) if is_on_cuda else str(error)) from None


def _try_shared_kernel(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    """Runs the real kernel, where CPU and CUDA share one, on the CUDA tensors themselves.

    It makes its own device checks and either completes, host memory being addressable, or fails to find the
    CUDA entry of its DispatchStub. Returns whether it completed, and its result.
    """
    for value in itertools.chain(args, kwargs.values()):
        check_generator(value)
    try:
        return True, op._op_dk(CPU_KEY, *args, **kwargs)
    except RuntimeError as error:
        if "DispatchStub: missing kernel" not in str(error):
            raise
        return False, None
