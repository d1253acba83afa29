"""The rules of the module level: which tensors of a module and its arguments do not go together on entry.

A mismatch is certain only where nothing can move a tensor before it is used: in PyTorch's own modules, unless hooks, an
exchanged `forward` or tensors of subclasses are in play. Everywhere else it is a suspect.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import Module, Parameter
from torch.nn.modules import module as _hooks
from torch.nn.parameter import is_lazy
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from devlint_guard.program.stored import own_tensors, tensors_in

# --- which modules ------------------------------------------------------------------------------------------


def _classes() -> Iterator[type[Module]]:
    """The modules of `torch.nn` that can be given tensors that do not go together."""
    files = [name for name in sys.modules if name.startswith(_HOME)]
    for found in itertools.chain.from_iterable(vars(sys.modules[name]).values() for name in files):
        if isinstance(found, type) and issubclass(found, Module) and found.__module__ in files:
            forward = vars(found).get("forward") or found.forward
            parameters = inspect.signature(forward).parameters.values()
            is_given_several = len(parameters) != 2 or any(one.kind is one.VAR_POSITIONAL for one in parameters)
            if forward.__module__ in files and found not in _NEVER and (is_given_several or _owns(found)):
                yield found


_HOME = "torch.nn.modules."

_NEVER = frozenset(
    {
        Module,
        nn.Identity,
        nn.Sequential,
        nn.Transformer,
        nn.TransformerEncoder,
        nn.TransformerEncoderLayer,
        nn.TransformerDecoder,
        nn.TransformerDecoderLayer,
        nn.TripletMarginWithDistanceLoss,
    }
)
"""They do not use their inputs, or pass them to code that may be the user's."""


def _owns(kind: type[Module]) -> bool:
    """Whether a class has parameters or buffers of its own: whether the constructors of its kind make some."""
    made = {"Parameter", "register_parameter", "register_buffer"}
    constructors = [
        vars(one)["__init__"] for one in kind.__mro__ if issubclass(one, Module) and "__init__" in vars(one)
    ]
    return any(made & set(one.__code__.co_names) for one in constructors[:-1])


_FORWARD = {kind: kind.forward for kind in _classes()}

COMPARED = frozenset(_FORWARD)
"""The classes whose tensors are compared on entry."""


def may_be_certain(module: Module) -> bool:
    """Whether no part of a module can move its inputs before their use.

    A module with inner ones is not certain, since a hook of theirs may; `MultiheadAttention` calls none of its own.
    """
    kind = type(module)
    return (
        _FORWARD.get(kind) is kind.forward
        and "forward" not in module.__dict__
        and "_hf_hook" not in module.__dict__
        and (not module._modules or kind is nn.MultiheadAttention)
        and not module._forward_pre_hooks
        and not _hooks._global_forward_pre_hooks
    )


def is_certain(module: Module, tensors: Sequence[Tensor]) -> bool:
    """Whether what differs on entry of a module still differs when it is used."""
    return (
        may_be_certain(module)
        and all(type(tensor) in (Tensor, Parameter) for tensor in tensors)
        and all(isinstance(mode, DeviceContext) for mode in _get_current_function_mode_stack())  # type: ignore[no-untyped-call]
    )


# --- which tensors ------------------------------------------------------------------------------------------


class Value(NamedTuple):
    """A tensor that a module or an operator takes.

    Attributes:
        name: of the parameter or buffer, or the argument, `hx[1]`.
        is_written: an operator writes into it.
    """

    name: str
    tensor: Tensor
    is_written: bool = False


_ANYWHERE_OF_CTC = frozenset({"targets", "input_lengths", "target_lengths"})
"""Arguments of `nn.CTCLoss` that may be on another device than the rest; PyTorch copies them to where it wants them."""


def compared_tensors(module: Module) -> list[Value]:
    """The parameters and buffers that a module holds itself, but for those without a dimension on the CPU.

    A parameter whose size is not known yet moves with its module, as all do, and goes to where the first input is.
    """
    known = (Value(*named) for named in own_tensors(module))
    return [value for value in known if not (is_lazy(value.tensor) or is_free(value.tensor))]


def given_tensors(module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Value]:
    """The tensors in the arguments of a call, by the names of the parameters, but for those that may be anywhere."""
    anywhere = _ANYWHERE_OF_CTC if type(module) is nn.CTCLoss else ()
    bound = (one for one in _bound(module, args, kwargs) if one[0] not in anywhere)
    found = (Value(*named) for name, value in bound for named in tensors_in(value, name))
    return [value for value in found if not is_free(value.tensor)]


def is_free(tensor: Tensor) -> bool:
    """Whether a tensor meets those of every device: PyTorch reads one of no dimension on the CPU as a number."""
    return tensor.dim() == 0 and tensor.device.type == "cpu"


def has_data(tensor: Tensor) -> bool:
    """Whether a tensor is on a device that holds data, which meta does not.

    `Tensor.is_meta` asks the dispatcher if the tensor has a class of its own, and so runs the modes of the thread.
    """
    return tensor.device.type != "meta"


def _bound(module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    try:
        bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return [*((f"argument {index}", value) for index, value in enumerate(args)), *kwargs.items()]
    return list(bound.items())


# --- what does not go together ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The tensors of a call that are not all on one device.

    Attributes:
        own: of the module itself.
        given: in the arguments.
        certain: see `is_certain`.
    """

    module: Module
    own: tuple[Value, ...]
    given: tuple[Value, ...]
    certain: bool

    @classmethod
    def of(cls, module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mismatch | None:
        """What does not go together in a call; None if everything does."""
        own, given = compared_tensors(module), given_tensors(module, args, kwargs)
        tensors = [value.tensor for value in (*own, *given)]
        if len({tensor.device for tensor in tensors}) < 2:
            return None
        return cls(module, tuple(own), tuple(given), is_certain(module, tensors))


def devices_by_size(tensors: Sequence[Tensor]) -> list[str]:
    """The devices of tensors, that of the most elements first; meta, which holds none, comes last."""
    sizes: dict[torch.device, int] = {}
    for tensor in tensors:
        size = tensor.numel() if has_data(tensor) and not is_lazy(tensor) else 0
        sizes[tensor.device] = sizes.get(tensor.device, 0) + size
    return [str(device) for device in sorted(sizes, key=lambda one: (one.type == "meta", -sizes[one], str(one)))]
