"""PyTorch's messages about devices: the kind of trouble behind each message, and its details.

The texts are those of torch 2.13, and of older versions where the pattern says so.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from traceback import walk_tb
from types import MappingProxyType
from typing import Final

from torch import nn


class Trouble(enum.Enum):
    """What went wrong, as far as a message tells."""

    APART = "values that must be together are on different devices"
    INDEX = "an index is neither on the CPU nor on the device of the indexed tensor"
    META = "a tensor without data is used as if it had some"
    HOST_ACCESS = "numpy reads a tensor that is on a device"
    NOT_ON_CPU = "an argument has to be on the CPU"
    PINNED = "only tensors on the CPU can be pinned"
    GENERATOR = "a generator draws numbers for another type of device"
    NO_DEVICE = "the machine has no such type of device"
    NO_INDEX = "the machine has not so many devices"
    DEVICE_TEXT = "this names no device"
    CHECKPOINT = "a checkpoint was written from a device that is not here"
    DATA_PARALLEL = "the module is not where DataParallel needs it"
    DISTRIBUTED = "the module is not where DistributedDataParallel needs it"
    COLLECTIVE = "the backend of a process group does not know the device"
    NO_KERNEL = "an operation does not exist on a device"
    NO_FLOAT64 = "MPS has no numbers of the type float64"
    FORKED = "CUDA is used in a process that was forked from one that uses it"
    NO_ATTRIBUTE = "a module has no attribute `device`"


@dataclass(frozen=True, slots=True)
class Message:
    """What a message says.

    Attributes:
        trouble: the kind of trouble.
        devices: the devices that it names, in its order, without repetition.
        argument: the kernel's name of the argument that it blames, which often is the innocent one; or "".
        fields: the other groups in the pattern of the message.
    """

    trouble: Trouble
    devices: tuple[str, ...] = ()
    argument: str = ""
    fields: MappingProxyType[str, str] = field(default_factory=lambda: MappingProxyType({}))


_PATTERNS: Final[dict[Trouble, tuple[str, ...]]] = {
    # --- from the more particular to the more general ---
    Trouble.FORKED: (r"Cannot re-initialize (?:CUDA|XPU) in forked subprocess|CUDA error: initialization error",),
    Trouble.HOST_ACCESS: (r"can't convert (?P<a>\S+) device type tensor to numpy",),
    Trouble.INDEX: (
        r"indices should be either on (?P<x>\S+) or on the same device as the indexed tensor \((?P<a>[^)]+)\)",
    ),
    Trouble.GENERATOR: (
        r"Expected a '(?P<a>\w+)' (?:device type for generator|generator device) but found '(?P<b>[\w:]+)'",
    ),
    Trouble.PINNED: (r"[oO]nly dense CPU tensors can be pinned|cannot pin '",),
    Trouble.NOT_ON_CPU: (
        r"'(?P<argument>lengths)' argument should be a 1D CPU int64 tensor, but got 1D (?P<b>\S+) ",
        r"expected (?P<argument>\w+) to be on (?P<a>cpu), but it's on (?P<b>[^\s,]+)",
        r"_share_\w+_: only available on CPU",
    ),
    Trouble.NO_FLOAT64: (r"MPS framework doesn't support float64",),
    Trouble.CHECKPOINT: (
        r"Attempting to deserialize object on a (?P<type>\S+) device but",
        r"Attempting to deserialize object on (?P<type>\S+) device (?P<index>\d+) but",
    ),
    Trouble.META: (r"Cannot copy out of meta tensor|cannot be called on meta tensors|is not valid on meta tensor",),
    Trouble.NO_DEVICE: (
        r"Torch not compiled with (?P<type>\w+) enabled",
        r"No (?P<type>CUDA|HIP|XPU) (?:GPUs|devices) are available|is only supported with GPUs",
        r"Found no NVIDIA driver|not linked with support for (?P<type>\w+)|Cannot access accelerator",
        r"type torch\.(?P<type>cuda)\.\w+ not available|PyTorch was compiled without CUDA support",
        r"with arguments from the '(?P<type>MPS|XPU|HPU|MTIA|XLA)' backend",
        r"The (?P<type>MPS) backend is supported on|Cannot initialize CUDA without|dummy base class",
    ),
    Trouble.NO_INDEX: (
        r"invalid device ordinal|Invalid device id|The device index is out of range",
        r"device_index >= 0 && device_index < num_gpus",
    ),
    Trouble.DEVICE_TEXT: (
        r"Invalid device string: '(?P<text>[^']*)'|Device string must not be empty",
        r"device type at start of device string: (?P<text>\S*)",
        r"Device index must (?:not be|be)|Invalid device, must be cuda device|Invalid device argument",
        r"must not include an index because index was passed explicitly: (?P<text>\S+)",
    ),
    Trouble.DATA_PARALLEL: (
        r"must have its parameters and buffers on device (?P<a>\S+) \(device_ids\[0\]\) but found one of them on "
        r"device: (?P<b>\S+)",
        r"Expected a non cpu device|Gather function not implemented for CPU tensors",
        r"All tensors must be on devices\[0\]|reduce_add expects all inputs to be on GPUs",
    ),
    Trouble.DISTRIBUTED: (
        r"DistributedDataParallel(?:'s)? (?:device_ids|input module)",
        r"device_ids can only be None or contain a single element|Expected at least one device",
    ),
    Trouble.COLLECTIVE: (
        r"No backend type associated with device type (?P<b>\w+)",
        r"Tensors must be CUDA and dense|does not support CPU",
    ),
    # --- values apart: the generated check of 2.13 and of older versions, TensorIterator, and the hand-written ones ---
    Trouble.APART: (
        r"on the same device, but got (?P<argument>\w+) is on (?P<a>\S+), different from other tensors on (?P<b>\S+)",
        r"found at least two devices, (?P<a>\S+) and (?P<b>[^\s!]+)!"
        r"(?: \(when checking argument for argument (?P<argument>\w+))?",
        r"but got (?P<argument>\w+) on (?P<a>\S+) and \w+ on (?P<b>\S+)",
        r"found (?:input|parameter) tensor at (?P<a>\S+) and \w+ tensor at (?P<b>\S+)",
        r"Tensor on device (?P<a>\S+) is not on the expected device (?P<b>[^\s!]+)!",
        r"Tensor for argument (?:#\d+ )?'?(?P<argument>\w+)'? is on (?:CPU|(?P<a>\S+) but expected on (?P<b>mps))",
        r"Passed CPU tensor to MPS op|not been allocated on MPS|Expected (?P<argument>\w+)\.is_mps\(\) to be true",
        r"Input type \((?P<input>[^)]+)\) and (?P<argument>weight|bias) type \((?P<other>[^)]+)\)",
        r"Function (?P<function>\w+)Backward returned an invalid gradient at index \d+ - expected device (?P<a>\S+) "
        r"but got (?P<b>\S+)",
        r"expected device (?P<a>\S+) but got (?:device )?(?P<b>\S+)",
        r"Input \d+ is on device (?P<a>\S+) and input \d+ is on device (?P<b>\S+)",
        r"Expected tensor to have (?P<a>\S+) Device, but got tensor with (?P<b>\S+) Device",
        r"storage of a tensor on device \"(?P<a>\S+)\" to a storage on different device \"(?P<b>\S+)\"",
        r"gradient (?:with|located on) device (?:type )?'?(?P<a>\w+)'? to a tensor",
        r"query\.device: (?P<a>\S+) key\.device: (?P<b>\S+) and value\.device: (?P<c>\S+)",
        r"TensorOptions\([^)]*device=(?P<a>[\w:]+).*\(got TensorOptions\([^)]*device=(?P<b>[\w:]+)",
        r"expects device type: (?P<a>\w+) but device type: (?P<b>\w+) was passed",
        r"(?:to be|must be|are|be) (?:all )?(?:on|at|in) the same device|[oO]n same device",
        r"(?:have|has) the same device|same device type|tensor on a different device|two different devices",
        r"Found two parameters on different devices|Encountered different devices in metric",
        r"expected an? (?:CUDA|XPU) device but found (?P<b>\w+)|too many CPU scalars|CPU Scalar support for",
        r"hook '(?P<function>[^']+)' has changed the type of value \(was (?P<input>\S+) got (?P<other>[^)]+)\)",
        r"must be a CPU tensor|CPU tensor, but got tensor on (?P<b>\S+)|assigned grad has data located",
    ),
    Trouble.NO_KERNEL: (
        r"operator '(?P<operator>\S+)' is not currently implemented for the (?P<type>MPS|XPU) device",
        r"Could not run '(?P<operator>\S+)' with arguments from the '(?P<type>CUDA|CPU)' backend",
    ),
}

_COMPILED: Final = tuple((trouble, re.compile(one, re.DOTALL)) for trouble, some in _PATTERNS.items() for one in some)

_TENSOR_TYPE: Final = re.compile(r"torch\.(?P<module>\w+\.)?\w*Tensor|(?P<key>[A-Z]{3})\w+Type")


def read(error: BaseException) -> Message | None:
    """What an error says; None when it is none of PyTorch's on devices."""
    if isinstance(error, AttributeError):
        asked = error.name == "device" and isinstance(error.obj, nn.Module)
        return Message(Trouble.NO_ATTRIBUTE) if asked else None
    if isinstance(error, (IndexError, TypeError)) and (trouble := _wrapper_of(error)) is not None:
        return Message(trouble)
    if not isinstance(error, (RuntimeError, TypeError, ValueError, AssertionError)):
        return None
    for trouble, pattern in _COMPILED:
        found = pattern.search(str(error))
        if found is not None:
            replica = re.match(r"Caught \w+ in replica (?P<replica>\d+) on device \d+", str(error))  # of DataParallel
            groups = {**found.groupdict(), **(replica.groupdict() if replica else {})}
            return _message(trouble, {key: value for key, value in groups.items() if value is not None})
    return None


def _wrapper_of(error: BaseException) -> Trouble | None:
    """Whose constructor an error is from that says nothing of devices; an empty or wrong `device_ids` is its cause."""
    *_, frame = (None, *(frame for frame, _ in walk_tb(error.__traceback__)))
    if frame is None or frame.f_code.co_name != "__init__":
        return None
    return _WRAPPERS.get(str(frame.f_globals.get("__name__")))


_WRAPPERS: Final = {
    nn.DataParallel.__module__: Trouble.DATA_PARALLEL,
    nn.parallel.DistributedDataParallel.__module__: Trouble.DISTRIBUTED,
}


def _message(trouble: Trouble, groups: dict[str, str]) -> Message:
    devices = [groups[key].strip("'\".,;") for key in ("a", "b", "c") if key in groups]
    devices += [_type_of(groups[key]) for key in ("input", "other") if key in groups]
    known = {key: value for key, value in groups.items() if key not in {"a", "b", "c", "argument"}}
    return Message(trouble, tuple(dict.fromkeys(devices)), groups.get("argument", ""), MappingProxyType(known))


def _type_of(tensor_type: str) -> str:
    """The type of device of `torch.cuda.FloatTensor`, `XPUFloatType`, `torch.FloatTensor`."""
    found = _TENSOR_TYPE.match(tensor_type)
    name = (found["module"] or found["key"]) if found else None
    return name.rstrip(".").lower() if name else "cpu"
