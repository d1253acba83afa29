"""What there is to do for each overload of an operator, worked out once from its schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from devlint_guard.operators import name_of
from devlint_guard.regimes import Regime, is_structured, regime_of
from devlint_guard.rehearsal.labels import label


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


class Plan:
    """How the calls of one overload are handled.

    Attributes:
        run: what executes the operator.
        name: `add.Tensor`; `mm` for an overload without a name of its own.
        base: the name without the overload, and without the underscore of an in-place operator.
        regime: the rule by which PyTorch's generated code compares devices.
        is_plain: all tensors are positional arguments of their own, and there is neither a device nor a generator.
        takes_device: one of the arguments is a device.
        is_packing: it takes lengths on the CPU, and returns sizes on the CPU, wherever the sequences are.
        makes_new: which of the results are new tensors; views and written arguments are not.
    """

    __slots__ = ("base", "is_packing", "is_plain", "makes_new", "name", "overload", "regime", "run", "takes_device")

    def __init__(self, overload: Any) -> None:
        schema = overload._schema
        types = [str(argument.type) for argument in schema.arguments]
        self.overload = overload
        self.run: Callable[..., Any] = getattr(overload, "_op", overload)
        self.name = name_of(overload) if overload.namespace == "aten" else schema.name
        self.base = self.name.partition(".")[0].rstrip("_")
        self.regime = regime_of(self.name) if overload.namespace == "aten" else Regime.OWN
        self.takes_device = any("Device" in kind for kind in types)
        has_list = any("Tensor" in kind and "List" in kind for kind in types)
        has_keyword = any("Tensor" in str(one.type) and one.kwarg_only for one in schema.arguments)
        has_generator = any("Generator" in kind for kind in types)
        self.is_packing = self.base == "_pack_padded_sequence"
        is_special = self.is_packing or self.base.startswith(("histogram", "_histogram", "c10d::"))
        self.is_plain = not (self.takes_device or has_list or has_keyword or has_generator or is_special)
        self.makes_new = tuple(one.alias_info is None for one in schema.returns)

    @property
    def is_foreign(self) -> bool:
        """Whether another library than PyTorch has registered the operator."""
        return self.overload.namespace not in {"aten", "prims", "prim", "torchvision"}

    def operands(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Operand]:
        """Return the tensors of a call in the order of the generated check: those it writes to by keyword first."""
        outputs: list[Operand] = []
        inputs: list[Operand] = []
        keywords: list[Operand] = []
        for position, argument in enumerate(self.overload._schema.arguments):
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            if value is None:
                continue
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            found = outputs if argument.is_out else keywords if argument.kwarg_only else inputs
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, Tensor):
                    found.append(Operand(argument.name, one, label(one), is_written))
        return outputs + inputs + keywords

    @property
    def wrapper(self) -> str:
        """The name of the C++ function in which the generated check stands, which is part of its message."""
        base, _, overload = self.name.partition(".")
        if any(argument.is_out for argument in self.overload._schema.arguments):
            base += "_out"
        if is_structured(self.name):
            return f"wrapper_CUDA_{base}" + (f"_{overload}" if overload else "")
        return f"wrapper_CUDA_{overload}_{base}"
