"""How PyTorch decides, for each ATen overload, whether its tensors may be on different devices.

The source is `device_check` in the `native_functions.yaml` that ships with torch: torchgen writes a check that holds
all tensors to one device into every kernel for an accelerator, unless the entry says `NoCheck`; entries that add
`TensorIterator`, or inherit from that class, leave it to the class, which lets 0-dim CPU tensors join tensors on an
accelerator.
"""

from __future__ import annotations

import enum
import functools
import importlib.util
import re
from pathlib import Path


class Regime(enum.Enum):
    """Who decides, and by which rule."""

    STRICT = "all tensors are on one device"
    ELEMENTWISE = "all tensors are on one device, but for inputs on the CPU that have no dimensions"
    INDEX = "each index is on the device of the indexed tensor, or on the CPU"
    OWN = "the kernel alone knows"


# Checks that are written by hand, and composites that hand all their tensors to one strict kernel: Convolution.cpp,
# check_input_same_type_as_parameters; Blas.cpp, mv; TensorShape.cpp, stack; Embedding.cpp, embedding;
# TensorAdvancedIndexing.cpp, index; TensorCompare.cpp, where.
_BY_HAND = {
    "convolution": Regime.STRICT,
    "convolution_backward": Regime.STRICT,
    "mv": Regime.STRICT,
    "stack": Regime.STRICT,
    "embedding": Regime.STRICT,
    "index.Tensor": Regime.INDEX,
    "where.self": Regime.OWN,
}

# Of these the entries say `TensorIterator`, and the kernels move some arguments before they use one.
_MOVING = frozenset({"index", "index_put", "index_put_impl", "index_fill", "masked_fill", "fill", "where"})


@functools.cache
def regime_of(name: str) -> Regime:
    """The regime of an ATen overload, `add.Tensor` or `mm`.

    `OWN` for operators of other libraries, and for all operators if torch comes without torchgen.
    """
    if name in _BY_HAND:
        return _BY_HAND[name]
    entry = _entries().get(name, "")
    delegate = _entries().get(_field(entry, "structured_delegate"), "")
    check = _field(entry, "device_check")
    is_iterator = "TensorIteratorBase" in _field(entry, "structured_inherits") + _field(delegate, "structured_inherits")
    if "TensorIterator" in check or ("NoCheck" in check and is_iterator):
        is_moving = name.partition(".")[0].strip("_") in _MOVING
        return Regime.OWN if is_moving else Regime.ELEMENTWISE
    # A kernel that only delegates to another is of the backends that the other is of.
    keys = _keys(entry) | _keys(delegate)
    if "NoCheck" in check or "CUDA" not in keys or "CompositeImplicitAutograd" in keys:
        return Regime.OWN
    return Regime.STRICT


def is_structured(name: str) -> bool:
    """Whether an ATen overload is a structured kernel, by which torchgen names the function with its check."""
    entry = _entries().get(name, "")
    return bool(_field(entry, "structured") or _field(entry, "structured_delegate"))


def has_cuda_kernel(name: str) -> bool:
    """Whether an ATen overload has a kernel of its own for CUDA, in builds for CUDA."""
    return "CUDA" in _keys(_entries().get(name, ""))


def lacks_kernel(name: str, key: str) -> bool:
    """Whether an ATen overload has kernels for the CPU and for CUDA, and none for the backend with a dispatch key."""
    entry = _entries().get(name, "")
    keys = _keys(entry) | _keys(_entries().get(_field(entry, "structured_delegate"), ""))
    return {"CPU", "CUDA"} <= keys and key not in keys and not any("Composite" in one for one in keys)


@functools.cache
def _entries() -> dict[str, str]:
    """The text of each entry, by the overload's name."""
    torchgen = importlib.util.find_spec("torchgen")
    if torchgen is None or torchgen.origin is None:
        return {}
    path = Path(torchgen.origin).parent / "packaged/ATen/native/native_functions.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    return {entry.partition("(")[0]: entry for entry in text.split("\n- func: ")[1:]}


def _field(entry: str, key: str) -> str:
    found = re.search(rf"^  {key}:(.*)$", entry, re.MULTILINE)
    return "" if found is None else found.group(1).strip()


def _keys(entry: str) -> set[str]:
    """The dispatch keys that the entry registers kernels for."""
    found = re.search(r"^  dispatch:\n((?:    .*\n?)*)", entry, re.MULTILINE)
    lines = [] if found is None else found.group(1).splitlines()
    keys = {key for line in lines for key in re.findall(r"\w+", line.partition("#")[0].partition(":")[0])}
    return keys | ({"CUDA"} if "\n  ufunc_inner_loop:" in entry else set())
