"""What a record says of the program besides findings: its modules, and the machine that it ran on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from devlint_guard.explain.operands import describe
from devlint_guard.finding import Role
from devlint_guard.program.accelerator import accelerator
from devlint_guard.program.frames import shown_path
from devlint_guard.program.naming import role_in
from devlint_guard.program.stored import dictionary_of, own_tensors, registered_in, table_of, tensors_in
from devlint_guard.report.record import Held, Part, Program


def tree_of(name: str, module: nn.Module) -> Part:
    """The tree of a module, as a root with a name; a module that stands in several places is shown in the first."""
    registered = {id(tensor) for tensor in registered_in(module)}
    return _part(name, module, registered, set())


def _part(name: str, module: nn.Module, registered: set[int], seen: set[int]) -> Part:
    seen.add(id(module))
    children = (one for one in table_of(module, "_modules") if one[1] is not None)
    parts = tuple(_part(key, child, registered, seen) for key, child in children if id(child) not in seen)
    return Part(name, type(module).__name__, tuple(_tensors(module, registered)), parts)


def _tensors(module: nn.Module, registered: set[int]) -> Iterator[Held]:
    for key, tensor in own_tensors(module):
        yield _held(key, role_in(module, key), tensor)
    for key, value in list(dictionary_of(module).items()):
        if not key.startswith("_"):
            for path, tensor in tensors_in(value, key):
                if id(tensor) not in registered:
                    yield _held(path, Role.ATTRIBUTE, tensor)


def _held(name: str, role: Role, tensor: Tensor) -> Held:
    size = 0 if is_lazy(tensor) else tensor.numel() * tensor.element_size()
    return Held(name, role.value, str(tensor.device), describe(tensor), size)


def program(seconds: float, ended: str) -> Program:
    """The program of this process, which was guarded for some seconds."""
    script, *arguments = sys.argv or [""]
    return Program(shown_path(script) if script else "", tuple(arguments), round(seconds, 3), ended)


def end_of(error: BaseException | None) -> str:
    """How a program ends, as `Program.ended` has it, with the error that ends it if there is one."""
    if error is None:
        return "finished"
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        return f"exit code {error.code or 0}"
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def machine() -> dict[str, Any]:
    """The fields of a record on versions and devices. Asks CUDA only if the program has started it."""
    devices: tuple[str, ...] = ()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        count = torch.cuda.device_count()
        devices = tuple(f"cuda:{index} ({torch.cuda.get_device_name(index)})" for index in range(count))
    versions = {"torch": torch.__version__, "python": platform.python_version()}
    return {**versions, "devices": devices, "used_gpu": used_gpu()}


def used_gpu() -> bool:
    """Whether a tensor of this process may have been on an accelerator; of CUDA and XPU, whether they were started."""
    kind = accelerator()
    module: Any = None if kind is None else torch.get_device_module(kind)
    return module is not None and bool(getattr(module, "is_initialized", module.is_available)())
