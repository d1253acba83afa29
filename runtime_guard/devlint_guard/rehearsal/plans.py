"""What there is to do for each overload of an operator, worked out once from its schema."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from devlint_guard.rehearsal.kinds import KINDS, MPS
from devlint_guard.rehearsal.labels import label
from devlint_guard.rehearsal.machine import wrapper
from devlint_guard.watch.operators import name_of
from devlint_guard.watch.regimes import Regime, has_cuda_kernel, is_structured, lacks_kernel, regime_of


class Operand(NamedTuple):
    """One tensor that an operator takes.

    Attributes:
        argument: the name that the schema gives it.
        device: where it would be.
        is_written: the operator writes into it.
    """

    argument: str
    tensor: Tensor
    device: torch.device
    is_written: bool


_C: Any = torch._C
_KEYS: Final = {"cpu": "CPU"} | {name: kind.key for name, kind in KINDS.items()}
_has_computed_kernel: Final = _C._dispatch_has_computed_kernel_for_dispatch_key
_IMPLICIT: Final = _C.DispatchKey.CompositeImplicitAutograd
_COMPOSITE: Final = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


def _composition_of(overload: Any, name: str) -> Any:
    has_kernel = functools.partial(_C._dispatch_has_kernel_for_dispatch_key, overload.name())
    if has_kernel("CPU") or has_cuda_kernel(name):
        return None
    return next((getattr(_C.DispatchKey, key) for key in _COMPOSITE if has_kernel(key)), None)


def _python_kernels_of(overload: Any) -> dict[str, Any]:
    """Return the keys of the kernels that are written in Python, by the type of device (torch.library).

    For its own operators, PyTorch has compiled kernels too. It may have replaced that for CUDA by one that needs a GPU.
    """
    if overload.namespace == "aten":
        return {}
    qualified = overload.name().replace("::", "/")
    keys = {key for key in (*_KEYS.values(), *_COMPOSITE) if f"{qualified}/{key}" in torch.library._impls}
    composite = next((key for key in _COMPOSITE if key in keys), None)
    found = {kind: key if key in keys else composite for kind, key in _KEYS.items()}
    return {kind: getattr(_C.DispatchKey, key) for kind, key in found.items() if key is not None}


# They have a kernel for MPS that no table names (MPSFallback.mm), or only the CPU uses them.
_ON_MPS: Final = frozenset({"_linalg_svd", "embedding_renorm", "_fused_sdp_choice"})


class Parameter(NamedTuple):
    """One argument of a schema.

    Attributes:
        kind: its type, such as `Tensor?`.
        is_out: it receives a result, and is given by keyword.
        is_keyword: it is given by keyword, and is no result.
        is_written: the operator writes into it.
    """

    name: str
    kind: str
    is_out: bool
    is_keyword: bool
    is_written: bool

    @classmethod
    def of(cls, argument: Any) -> Parameter:
        """Return what matters of an argument as PyTorch describes it."""
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        is_keyword = argument.kwarg_only and not argument.is_out
        return cls(argument.name, str(argument.type), argument.is_out, is_keyword, is_written)


class Results(enum.Enum):
    """What an operator returns."""

    NOTHING_NEW = "views and written arguments, or no tensor"
    ONE_TENSOR = "one new tensor"
    OTHER = "several results, or a list of new tensors"


class Plan:
    """How the calls of one overload are handled.

    Attributes:
        overload: it.
        run: what executes the operator.
        name: `add.Tensor`; `mm` for an overload without a name of its own.
        base: the name without the overload, and without the underscore of an in-place operator.
        regime: the rule by which PyTorch's generated code compares devices.
        composition: the dispatch key of the kernel that makes the operator of others; None if it has kernels of its
            own for the CPU or for CUDA.
        python_kernels: the dispatch keys of kernels written in Python, by the type of device.
        parameters: its arguments.
        takes_device: one of the arguments is a device.
        takes_lists: one of the arguments is a list of tensors.
        takes_tensors: one of them is a tensor.
        generator: the position of the argument that is a generator; None if there is none.
        results: what it returns.
        is_always_composed: PyTorch's autograd replaces it by other operators. In inference mode it does not.
        is_random: it draws numbers.
        is_packing: it takes lengths on the CPU, and returns sizes on the CPU, wherever the sequences are.
        is_collective: it sends tensors between the ranks of a process group.
        is_missing_on_cpu: it has a kernel for CUDA and none for the CPU, on which a rehearsal would run it.
        is_missing_on_mps: it has no kernel for MPS.
        makes_new: which of the results may be new tensors; views and written arguments are not. An operator that is
            always composed may return a copy where its schema says a view.
        is_plain: all tensors are positional arguments or stand in positional lists, and there is neither a device nor
            a generator; where they are all on one device, the results are there too.
    """

    def __init__(self, overload: Any) -> None:
        schema = overload._schema
        self.overload = overload
        self.run: Callable[..., Any] = getattr(overload, "_op", overload)
        self.name = name_of(overload) if overload.namespace == "aten" else schema.name
        self.base = self.name.partition(".")[0].rstrip("_")
        self.regime = regime_of(self.name) if overload.namespace == "aten" else Regime.OWN
        self.composition = _composition_of(overload, self.name)
        self.is_always_composed = bool(self.composition == _IMPLICIT)
        self.is_random = torch.Tag.nondeterministic_seeded in overload.tags
        self.is_packing = self.base == "_pack_padded_sequence"
        self.is_collective = overload.namespace in ("c10d", "_c10d_functional")
        self.is_missing_on_cpu = has_cuda_kernel(self.name) and not _has_computed_kernel(overload.name(), "CPU")
        self.is_missing_on_mps = lacks_kernel(self.name, MPS.key) and self.base not in _ON_MPS
        self.python_kernels = _python_kernels_of(overload)
        self.parameters = tuple(map(Parameter.of, schema.arguments))
        tensors = [one for one in enumerate(self.parameters) if "Tensor" in one[1].kind]
        self._tensors = sorted(tensors, key=lambda one: (not one[1].is_out, one[1].is_keyword))
        kinds = [one.kind for one in self.parameters]
        self.takes_device = any("Device" in kind for kind in kinds)
        self.takes_lists = any("Tensor" in kind and "List" in kind for kind in kinds)
        self.takes_tensors = "Tensor" in kinds
        self.generator = next((position for position, kind in enumerate(kinds) if "Generator" in kind), None)
        self.makes_new = tuple(one.alias_info is None or self.is_always_composed for one in schema.returns)
        returned = [str(one.type) for one in schema.returns]
        if returned == ["Tensor"] and self.makes_new[0]:
            self.results = Results.ONE_TENSOR
        else:
            is_new = any(is_new and "Tensor" in kind for is_new, kind in zip(self.makes_new, returned, strict=True))
            self.results = Results.OTHER if is_new else Results.NOTHING_NEW
        has_keyword = any("Tensor" in one.kind and (one.is_keyword or one.is_out) for one in self.parameters)
        is_special = self.is_packing or self.is_collective or self.base.startswith(("histogram", "_histogram"))
        is_special = is_special or self.is_random or self.is_missing_on_mps or bool(self.python_kernels)
        is_special = is_special or self.is_missing_on_cpu
        self.is_plain = not (self.takes_device or has_keyword or self.generator is not None or is_special)

    def operands(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """Return the tensors of a call in the order of the generated check: those it writes to by keyword first."""
        found: list[Operand] = []
        for position, parameter in self._tensors:
            value = args[position] if position < len(args) else kwargs.get(parameter.name)
            group = value if isinstance(value, (list, tuple)) else (value,)
            found += [
                Operand(parameter.name, one, label(one), parameter.is_written)
                for one in group
                if isinstance(one, Tensor)
            ]
        return found

    def fit(self, operands: Sequence[Operand]) -> bool:
        """Return whether the shapes go together, and fit what is written; a result given by keyword is resized."""
        outputs = {parameter.name for parameter in self.parameters if parameter.is_out}
        given = [one for one in operands if one.argument not in outputs]
        if any(one.tensor.is_nested for one in given):
            return True
        try:
            shape = torch.broadcast_shapes(*(one.tensor.shape for one in given))  # type: ignore[no-untyped-call]
        except RuntimeError:
            return False
        read = {id(one.tensor) for one in given}
        return all(one.tensor.shape == shape for one in operands if one.is_written and id(one.tensor) in read)

    @property
    def wrapper(self) -> str:
        """The name of the C++ function in which the generated check stands, which is part of its message; or empty."""
        base, _, overload = self.name.partition(".")
        if any(one.is_out for one in self.parameters):
            base += "_out"
        if is_structured(self.name):
            return wrapper(base + (f"_{overload}" if overload else ""))
        return wrapper(f"{overload}_{base}")
