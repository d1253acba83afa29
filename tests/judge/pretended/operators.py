"""What PyTorch declares about each operator, read from the native_functions.yaml that ships with torchgen."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from tests.judge.pretended.relabel import ATEN


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload of native_functions.yaml.

    Attributes:
        base, overload: the two parts of its name; the overload may be empty.
        is_checked: torchgen writes a device check into its CUDA wrapper.
        is_structured: the wrapper's name is built as for a structured kernel.
        has_cuda, has_cpu: a kernel is registered for that backend, directly or by delegation.
        composites: the composite dispatch keys it has kernels for.
        delegate: the operator whose structured kernel it uses, or None.
    """

    base: str
    overload: str
    is_checked: bool = True
    is_structured: bool = False
    has_cuda: bool = False
    has_cpu: bool = False
    composites: frozenset[str] = frozenset()
    delegate: str | None = None

    def __str__(self) -> str:
        return f"{self.base}.{self.overload}" if self.overload else self.base

    def packet(self) -> Any:
        """The callable overload in torch.ops."""
        return getattr(getattr(ATEN, self.base), self.overload or "default")


@functools.cache
def operators() -> dict[str, Operator]:
    """All operators by name, `add.Tensor`."""
    torchgen = importlib.util.find_spec("torchgen")
    if torchgen is None or torchgen.origin is None:
        raise RuntimeError("torchgen, which ships with torch, is not installed")
    path = Path(torchgen.origin).parent / "packaged/ATen/native/native_functions.yaml"
    table = {str(entry): entry for entry in _entries(path.read_text(encoding="utf-8").splitlines())}
    for name, entry in list(table.items()):
        delegate = table.get(entry.delegate or "")
        if delegate is not None:
            table[name] = replace(
                entry,
                has_cuda=entry.has_cuda or delegate.has_cuda,
                has_cpu=entry.has_cpu or delegate.has_cpu,
            )
    return table


@dataclass(slots=True)
class _Draft:
    """An entry while its lines are being read."""

    name: str
    is_checked: bool = True
    is_structured: bool = False
    delegate: str | None = None
    keys: set[str] = field(default_factory=set)

    def finished(self) -> Operator:
        base, _, overload = self.name.partition(".")
        return Operator(
            base=base,
            overload=overload,
            is_checked=self.is_checked,
            is_structured=self.is_structured,
            has_cuda="CUDA" in self.keys,
            has_cpu="CPU" in self.keys,
            composites=frozenset(key for key in self.keys if key.startswith("Composite")),
            delegate=self.delegate,
        )


def _entries(lines: Iterable[str]) -> Iterator[Operator]:
    """Reads the few fields wanted by their indentation, some fifty times faster than a YAML parser."""
    draft: _Draft | None = None
    in_dispatch = False
    for line in lines:
        if line.startswith("- func:"):
            if draft is not None:
                yield draft.finished()
            draft = _Draft(line.removeprefix("- func:").strip().partition("(")[0])
            in_dispatch = False
        elif draft is not None:
            if in_dispatch and line.startswith("    "):
                keys = line.partition("#")[0].partition(":")[0]
                draft.keys.update(re.findall(r"\w+", keys))
                continue
            in_dispatch = line.startswith("  dispatch:")
            _read_field(draft, line.strip())
    if draft is not None:
        yield draft.finished()


def _read_field(draft: _Draft, line: str) -> None:
    key, _, value = line.partition(":")
    match key:
        case "device_check":
            draft.is_checked = "NoCheck" not in value
        case "ufunc_inner_loop":
            draft.keys.update(("CPU", "CUDA"))
        case "structured":
            draft.is_structured = True
        case "structured_delegate":
            draft.is_structured = True
            draft.delegate = value.strip()
        case _:
            pass


def operator_name(op: Any) -> str:
    """The key of `operators()` for an overload of torch.ops."""
    base = op._schema.name.split("::", 1)[1]
    overload = op._schema.overload_name
    return f"{base}.{overload}" if overload else base


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """The tensors that one argument passes: itself, or the elements of a list."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            if isinstance(element, torch.Tensor):
                yield element


def bound_arguments(op: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Pairs of schema argument and value: positional ones first, then keywords in the schema's order."""
    schema = op._schema.arguments
    positional = [argument for argument in schema if not argument.kwarg_only]
    pairs = list(zip(positional, args, strict=False))
    return pairs + [(a, kwargs[a.name]) for a in schema if a.name in kwargs]
