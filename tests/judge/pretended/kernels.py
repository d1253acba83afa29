"""Runs an operator's CPU kernel on CPU aliases of CUDA tensors and gives the results back as CUDA tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from tests.judge.pretended.generators import as_cpu_generators, check_generator
from tests.judge.pretended.machine import current_device
from tests.judge.pretended.operators import bound_arguments, operator_name, tensors_in
from tests.judge.pretended.relabel import ATEN, CPU, adopt, as_kernel, to_cpu_label, to_cuda_label

# Positions of the results that a CUDA kernel returns on the CPU.
_CPU_RESULTS = {"_pack_padded_sequence": (1,)}


def compute(op: Any, args: Sequence[Any], kwargs: dict[str, Any], index: int | None = None) -> Any:
    """Runs the CPU kernel of `op`.

    Args:
        op: an overload of torch.ops.
        args, kwargs: what the dispatcher passed, CUDA tensors among them.
        index: the CUDA device of new results; None: that of the first CUDA argument, or else the current one.
    """
    if index is None:
        index = _first_cuda_index(itertools.chain(args, kwargs.values()))
    for value in itertools.chain(args, kwargs.values()):
        check_generator(value)
    aliases = _Aliases(bound_arguments(op, args, kwargs))
    numbers_as_tensors = tensors_for_numbers(op, args)
    cpu_args = [aliases.lower(value) for value in numbers_as_tensors]
    cpu_kwargs = {name: aliases.lower(value) for name, value in kwargs.items()}
    if cpu_kwargs.get("pin_memory"):
        cpu_kwargs["pin_memory"] = False
    aliases.remember()
    with as_kernel(), as_cpu_generators([*args, *kwargs.values()]):
        result = op(*cpu_args, **cpu_kwargs)
    aliases.write_back()
    on_cpu = _CPU_RESULTS.get(operator_name(op), ())
    if isinstance(result, tuple):
        return tuple(aliases.lift(value, index, i in on_cpu) for i, value in enumerate(result))
    return aliases.lift(result, index, 0 in on_cpu)


class _Aliases:
    """The CPU tensors that stand in for the CUDA tensors of one call.

    An argument that is only written gets an empty CPU tensor as its stand-in, which the kernel may resize as
    it would a fresh output; every other CUDA tensor gets an alias over its own memory.
    """

    def __init__(self, arguments: Sequence[tuple[Any, Any]]) -> None:
        self._pairs: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._outputs: set[int] = set()
        self._before: dict[int, tuple[tuple[int, ...], int]] = {}
        read = {id(t) for argument, value in arguments if not argument.is_out for t in tensors_in(value)}
        for argument, value in arguments:
            for tensor in tensors_in(value) if argument.is_out else ():
                if tensor.is_cuda and id(tensor) not in read:
                    empty = ATEN.empty.memory_format([0], dtype=tensor.dtype, device=CPU)
                    self._pairs[id(tensor)] = (tensor, empty)
                    self._outputs.add(id(tensor))

    def lower(self, value: Any) -> Any:
        """`value` with its CUDA tensors replaced by their stand-ins, and CUDA devices by the CPU."""
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                return value
            if id(value) not in self._pairs:
                self._pairs[id(value)] = (value, to_cpu_label(value))
            return self._pairs[id(value)][1]
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(self.lower(element) for element in value)
        if isinstance(value, torch.device):
            return CPU if value.type == "cuda" else value
        return value

    def remember(self) -> None:
        """Notes the geometry of all stand-ins, to see later which ones the kernel resized."""
        self._before = {key: (tuple(alias.shape), alias.data_ptr()) for key, (_, alias) in self._pairs.items()}

    def write_back(self) -> None:
        """Brings what the kernel wrote into outputs and resized tensors back to the CUDA tensors."""
        for key, (original, alias) in self._pairs.items():
            if key not in self._outputs:
                if (tuple(alias.shape), alias.data_ptr()) != self._before[key]:
                    adopt(original, alias)
            elif tuple(alias.shape) == tuple(original.shape):
                with as_kernel():
                    ATEN.copy_.default(to_cpu_label(original), alias, False)
            else:
                adopt(original, alias)

    def lift(self, value: Any, index: int, stays_on_cpu: bool) -> Any:
        """A result as the caller must see it: its own tensor where it passed one, else a new CUDA tensor."""
        if isinstance(value, torch.Tensor):
            for original, alias in self._pairs.values():
                if alias is value:
                    return original
            if stays_on_cpu or value.device.type != "cpu":
                return value
            return to_cuda_label(value, index)
        if isinstance(value, list):
            return [self.lift(element, index, stays_on_cpu) for element in value]
        return value


def tensors_for_numbers(op: Any, args: Sequence[Any]) -> list[Any]:
    """Wraps numbers where the schema wants a tensor, since boxing has unwrapped them."""
    wants_tensor = [str(a.type) in ("Tensor", "Optional[Tensor]") for a in op._schema.arguments[: len(args)]]
    return [
        _wrapped_number(value) if wanted and isinstance(value, (bool, int, float, complex)) else value
        for wanted, value in zip(wants_tensor, args, strict=True)
    ]


def _wrapped_number(value: bool | int | float | complex) -> Any:
    if isinstance(value, bool):
        dtype = torch.bool
    elif isinstance(value, int):
        dtype = torch.int64
    elif isinstance(value, float):
        dtype = torch.get_default_dtype()
    else:
        dtype = torch.complex64
    return ATEN.scalar_tensor.default(value, dtype=dtype, device=CPU)


def _first_cuda_index(values: Iterable[object]) -> int:
    for value in values:
        for tensor in tensors_in(value):
            if tensor.is_cuda:
                return int(tensor.device.index)
    return current_device()
