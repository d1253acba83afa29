"""How much of torch's public surface has a signature, namespace by namespace."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from devlint.analysis.libraries import transfer_tables
from devlint.torchlib.catalogue import Catalogue

from tests.torchlib.samples import calls, modules, operators

NAMESPACES = """
    torch torch.Tensor torch.nn torch.nn.functional torch.nn.init torch.nn.parallel torch.nn.attention torch.nn.utils
    torch.nn.utils.rnn torch.nn.utils.parametrizations torch.nn.utils.parametrize torch.nn.utils.prune
    torch.nn.utils.stateless torch.linalg torch.fft torch.special torch.sparse torch.signal.windows torch.cuda
    torch.cuda.amp torch.accelerator torch.mps torch.xpu torch.cpu torch.distributed torch.utils.data torch.optim
    torch.optim.lr_scheduler torch.optim.swa_utils torch.amp torch.distributions torch.autograd
    torch.autograd.functional torch.masked torch.func torch.compiler torch.jit torch.random torch.utils.checkpoint
""".split()
"""What programs import by name. Left out: export, quantization, tracing and packaging of programs."""

LEFT_OUT = frozenset(
    """
    torch.Tensor.__torch_dispatch__ torch.Tensor.__torch_function__ torch.BufferDict torch.ModuleDict
    torch.ParameterDict torch.nn.functional.Tensor torch.fft.Tensor torch.nn.functional.assert_int_or_pair
    torch.nn.functional.boolean_dispatch torch.nn.functional.DType
    torch.nn.utils.prune.ABC torch.nn.utils.prune.abstractmethod
    torch.utils.data.argument_validation torch.distributed.timedelta torch.autograd.variable
    """.split()
)
"""Helpers that a namespace imports for itself, and hooks that only torch calls."""

TYPES = frozenset("Event Generator Size Stream SymBool SymFloat SymInt device dtype finfo iinfo layout qscheme".split())
"""Those of the classes in torch's binary part that programs use; most of the others belong to a compiler."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one namespace offers, and what of it has no signature."""

    namespace: str
    public: tuple[str, ...]
    missing: tuple[str, ...]


def public(namespace: str) -> Iterator[str]:
    """The public callables of a namespace, of Tensor its methods and operators too."""
    holder = torch.Tensor if namespace == "torch.Tensor" else importlib.import_module(namespace)
    for name in getattr(holder, "__all__", None) or dir(holder):
        value = getattr(holder, name, None)
        private = name.startswith("_") and not (holder is torch.Tensor and name.startswith("__"))
        skipped = private or f"{namespace}.{name}" in LEFT_OUT or isinstance(value, types.ModuleType)
        if not skipped and callable(value) and not _is_foreign(value, holder, name):
            yield name


def _is_foreign(value: object, holder: object, name: str) -> bool:
    """Whether it belongs to Python, to TorchScript's compiler, or to torch's dispatch."""
    home = getattr(value, "__module__", "") or ""
    if holder is torch.Tensor:
        return hasattr(object, name)
    compiler = isinstance(value, type) and hasattr(torch._C, name) and name not in TYPES
    return home.startswith(("typing", "collections", "enum")) or compiler or "torch_function" in name


def is_described(catalogue: Catalogue, qualified: str) -> bool:
    """Whether anything is known of a name: a signature, a class, a value, or a transfer function."""
    name = catalogue.canonical(qualified)
    holder, _, last = name.rpartition(".")
    of_tensor = holder == "torch.Tensor" and (
        last in transfer_tables.TENSOR_METHODS or catalogue.attribute(holder, last) is not None
    )
    return (
        of_tensor
        or name in transfer_tables.FUNCTIONS
        or name in transfer_tables.CONSTRUCTORS
        or any(known is not None for known in (catalogue.function(name), catalogue.class_(name), catalogue.value(name)))
    )


def coverage(catalogue: Catalogue) -> Iterator[Coverage]:
    """The coverage of each namespace."""
    for namespace in NAMESPACES:
        names = tuple(public(namespace))
        yield Coverage(namespace, names, tuple(n for n in names if not is_described(catalogue, f"{namespace}.{n}")))


def operators_without(catalogue: Catalogue) -> list[str]:
    """PyTorch's operators of which no way to call them is described; attributes such as `x.T` are among the ways."""
    return [
        name
        for name in operators()
        if not any(is_described(catalogue, n) for n in [f"torch.Tensor.{name}", *(c.name for c in calls(name))])
    ]


def unnamed(names: Sequence[str]) -> list[str]:
    """Those of the operators that torch and Tensor have no name for: samples reach them through `torch.ops`."""
    return [name for name in names if not hasattr(torch.Tensor, name) and not any(True for _ in calls(name))]


def modules_without(catalogue: Catalogue) -> list[str]:
    """PyTorch's modules whose call is not described."""
    return [name for name in modules() if catalogue.method(name, "forward") is None]
