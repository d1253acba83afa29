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
        is_out: it receives a result, and is given by keyword.
        is_keyword: it is given by keyword, and is no result.
        is_written: the operator writes into it.
    """

    name: str
    is_out: bool
    is_keyword: bool
    is_written: bool


class Results(enum.Enum):
    """What an operator returns."""

    NOTHING_NEW = "views and written arguments, or no tensor"
    ONE_TENSOR = "one new tensor"
    OTHER = "several results, or a list of new tensors"


class Plan:
    """How the calls of one overload are handled.

    Attributes:
        run: what executes the operator.
        name: `add.Tensor`; `mm` for an overload without a name of its own.
        base: the name without the overload, and without the underscore of an in-place operator.
        composition: the dispatch key of the kernel that makes the operator of others; None if it has kernels of its
            own for the CPU or for CUDA.
        is_always_composed: PyTorch's autograd replaces it by the others. In inference mode it does not.
        python_kernels: the dispatch keys of kernels written in Python, by the type of device.
        regime: the rule by which PyTorch's generated code compares devices.
        is_plain: all tensors are positional arguments or stand in positional lists, and there is neither a device nor
            a generator; where they are all on one device, the results are there too.
        takes_device: one of the arguments is a device.
        takes_generator: one of the arguments is a generator.
        generator_position: which one.
        takes_lists: one of the arguments is a list of tensors.
        takes_tensors: one of the positional arguments is a tensor that must be given.
        tensor_positions: which of the positional arguments are such tensors.
        is_random: it draws numbers.
        is_collective: it sends tensors between the ranks of a process group.
        is_missing_on_mps: it has no kernel for MPS.
        is_packing: it takes lengths on the CPU, and returns sizes on the CPU, wherever the sequences are.
        results: what it returns.
        makes_new: which of the results may be new tensors; views and written arguments are not. An operator that is
            always composed may return a copy where its schema says a view.
    """

    __slots__ = (
        "_parameters",
        "base",
        "composition",
        "generator_position",
        "is_always_composed",
        "is_collective",
        "is_missing_on_mps",
        "is_packing",
        "is_plain",
        "is_random",
        "makes_new",
        "name",
        "overload",
        "python_kernels",
        "regime",
        "results",
        "run",
        "takes_device",
        "takes_generator",
        "takes_lists",
        "takes_tensors",
        "tensor_positions",
    )

    def __init__(self, overload: Any) -> None:
        schema = overload._schema
        types = [str(argument.type) for argument in schema.arguments]
        self.overload = overload
        self.run: Callable[..., Any] = getattr(overload, "_op", overload)
        self.name = name_of(overload) if overload.namespace == "aten" else schema.name
        self.base = self.name.partition(".")[0].rstrip("_")
        self.regime = regime_of(self.name) if overload.namespace == "aten" else Regime.OWN
        self.composition = _composition_of(overload, self.name)
        self.is_always_composed = self.composition == _IMPLICIT
        self.takes_device = any("Device" in kind for kind in types)
        found = [position for position, kind in enumerate(types) if "Generator" in kind]
        self.takes_generator = bool(found)
        self.generator_position = found[0] if found else len(types)
        self.takes_lists = any("Tensor" in kind and "List" in kind for kind in types)
        self.tensor_positions = tuple(kind == "Tensor" for kind in types)
        self.takes_tensors = any(self.tensor_positions)
        has_keyword = any("Tensor" in str(one.type) and one.kwarg_only for one in schema.arguments)
        self.is_random = torch.Tag.nondeterministic_seeded in overload.tags
        self.is_packing = self.base == "_pack_padded_sequence"
        self.is_collective = overload.namespace in ("c10d", "_c10d_functional")
        is_special = self.is_packing or self.is_collective or self.base.startswith(("histogram", "_histogram"))
        self.python_kernels = _python_kernels_of(overload)
        self.is_missing_on_mps = lacks_kernel(self.name, MPS.key) and self.base not in _ON_MPS
        is_special = is_special or self.is_random or self.is_missing_on_mps or bool(self.python_kernels)
        self.is_plain = not (self.takes_device or has_keyword or self.takes_generator or is_special)
        self.makes_new = tuple(one.alias_info is None or self.is_always_composed for one in schema.returns)
        if not any(
            is_new and "Tensor" in str(one.type) for is_new, one in zip(self.makes_new, schema.returns, strict=True)
        ):
            self.results = Results.NOTHING_NEW
        else:
            is_one = len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor"
            self.results = Results.ONE_TENSOR if is_one else Results.OTHER
        self._parameters = tuple(
            Parameter(
                one.name,
                one.is_out,
                one.kwarg_only and not one.is_out,
                one.alias_info is not None and one.alias_info.is_write,
            )
            for one in schema.arguments
        )

    def operands(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """Return the tensors of a call in the order of the generated check: those it writes to by keyword first."""
        outputs: list[Operand] = []
        inputs: list[Operand] = []
        keywords: list[Operand] = []
        for position, parameter in enumerate(self._parameters):
            value = args[position] if position < len(args) else kwargs.get(parameter.name)
            if value is None:
                continue
            found = outputs if parameter.is_out else keywords if parameter.is_keyword else inputs
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, Tensor):
                    found.append(Operand(parameter.name, one, label(one), parameter.is_written))
        return outputs + inputs + keywords

    def fit(self, operands: Sequence[Operand]) -> bool:
        """Return whether the shapes go together, and fit what is written; a result given by keyword is resized."""
        outputs = {parameter.name for parameter in self._parameters if parameter.is_out}
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
        if any(argument.is_out for argument in self.overload._schema.arguments):
            base += "_out"
        if is_structured(self.name):
            return wrapper(base + (f"_{overload}" if overload else ""))
        return wrapper(f"{overload}_{base}")
