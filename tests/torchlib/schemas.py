"""What PyTorch's own table of operators says of devices: `native_functions.yaml`, which ships inside torch.

`torch/_C` is generated from that table. A function of which nothing else is said begins with a check that all its
tensors share a device; `device_check: NoCheck` takes the check out, and a kernel that goes over its operands with
TensorIterator has a check of its own that spares one 0-dim operand on the CPU. A function without a kernel (one
that is composed of other functions) checks nothing itself, whatever the table says.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

STRICT, ELEMENTWISE, KERNEL, COMPOSED = "strict", "elementwise", "kernel", "composed"
"""The regimes: the generated check; TensorIterator's check; the kernel's own; whatever it is composed of checks."""

_HEAD = re.compile(r"- func: (?P<name>[\w]+)(?:\.(?P<overload>\w+))?\((?P<arguments>.*)\) -> (?P<returns>.*)")
_ARGUMENT = re.compile(r"(?P<type>[\w\[\]?]+(?:\([a-z!|>* -]+\))?[\w\[\]?]*) (?P<name>\w+)(?P<default>=.*)?")


@dataclass(frozen=True, slots=True)
class Schema:
    """One overload of one operator.

    Args:
        name: without the overload: `add`, `add_`.
        overload: `Tensor`, `out`, or empty.
        arguments: names and types in order: `("self", "Tensor")`; keyword-only ones are among them.
        returns: the types of the results, without names.
        variants: `function`, `method`, or both.
        regime: how it decides about devices.
    """

    name: str
    overload: str
    arguments: tuple[tuple[str, str], ...]
    returns: str
    variants: frozenset[str]
    regime: str

    def tensors(self) -> tuple[str, ...]:
        """The names of the arguments that are tensors, or lists of tensors."""
        return tuple(name for name, kind in self.arguments if kind.startswith("Tensor"))


def table() -> Path:
    """Where the table lies.

    Raises:
        FileNotFoundError: this torch comes without it.
    """
    found = find_spec("torchgen")
    if found is None or found.origin is None:
        raise FileNotFoundError("torchgen is not installed")
    return Path(found.origin).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"


@functools.cache
def schemas() -> dict[str, tuple[Schema, ...]]:
    """All overloads by the name of their operator.

    Raises:
        FileNotFoundError: this torch comes without the table.
    """
    entries = re.split(r"\n(?=- func: )", table().read_text(encoding="utf-8"))
    listed: dict[str, list[Schema]] = {}
    inherited: dict[str, str] = {}
    parsed = [(entry, _HEAD.match(entry)) for entry in entries]
    for entry, head in parsed:
        if head is not None and _field(entry, "structured") == "True":
            inherited[_full(head)] = _regime(entry, {})
    for entry, head in parsed:
        if head is not None:
            arguments = tuple(_argument(text) for text in _split(head["arguments"]) if text != "*")
            variants = frozenset((_field(entry, "variants") or "function").replace(" ", "").split(","))
            regime = _regime(entry, inherited)
            schema = Schema(head["name"], head["overload"] or "", arguments, head["returns"], variants, regime)
            listed.setdefault(schema.name, []).append(schema)
    return {name: tuple(found) for name, found in listed.items()}


def _full(head: re.Match[str]) -> str:
    return f"{head['name']}.{head['overload']}" if head["overload"] else head["name"]


def _field(entry: str, name: str) -> str:
    """A field of an entry, empty if it has none."""
    found = re.search(rf"^  {name}:[ ]*([^#\n]*)", entry, re.MULTILINE)
    return found[1].strip() if found is not None else ""


def _regime(entry: str, inherited: dict[str, str]) -> str:
    delegate = _field(entry, "structured_delegate")
    if delegate in inherited:
        return inherited[delegate]
    iterates = "TensorIterator" in _field(entry, "structured_inherits")
    if _field(entry, "device_check") == "NoCheck":
        return ELEMENTWISE if iterates or "# TensorIterator" in entry else KERNEL
    kernels = (
        re.findall(r"^    ([\w, ]+):", entry, re.MULTILINE) if re.search(r"^  dispatch:", entry, re.MULTILINE) else []
    )
    if delegate or _field(entry, "structured") == "True" or any("CUDA" in name for name in kernels):
        return STRICT
    return COMPOSED


def _split(arguments: str) -> list[str]:
    """The arguments, cut at the commas between them."""
    return [text.strip() for text in re.split(r",(?![^\[]*\])(?![^(]*\))", arguments) if text.strip()]


def _argument(text: str) -> tuple[str, str]:
    found = _ARGUMENT.fullmatch(text)
    assert found is not None, text
    return found["name"], re.sub(r"\([^)]*\)", "", found["type"])
