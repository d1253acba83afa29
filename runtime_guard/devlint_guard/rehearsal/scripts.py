"""TorchScript, whose C++ code reads and writes tensors, and asks them for their devices.

The interpreter is given a copy of each graph that asks for labels instead, by operators of devlint:

    device = prim::device(x)           device = devlint::device(x)
    y = aten::to(k, device, …)         y = devlint::to(k, device, …)
    z = aten::arange(4, …, "cpu")      z = devlint::on(aten::arange(4, …, "cpu"), "cpu")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.aside import ASIDE
from devlint_guard.rehearsal.kinds import KINDS
from devlint_guard.rehearsal.labels import ANYWHERE, CPU, label, put, seen_device
from devlint_guard.rehearsal.machine import MACHINE, resolve
from devlint_guard.rehearsal.operators import MARKS, doing
from devlint_guard.rehearsal.tensors import to

_C: Any = torch._C
_LABELS = "devlint_devices"
"""The name of the extra file with the device of each tensor."""

_run: Any = _C.ScriptFunction.__call__
_functions: Any = WeakKeyDictionary()
"""By a scripted function or method, the function that runs instead; None if it asks for no device."""


def install(replaced: Replacements) -> None:
    """Replace the calls of scripted functions and methods, and what reads and writes files."""
    for kind in (_C.ScriptFunction, _C.ScriptMethod):
        replaced.around(kind, "__call__", _call)
    for name in ("save", "save_to_buffer"):
        replaced.around(_C.ScriptModule, name, _write)
    for name in ("import_ir_module", "import_ir_module_from_buffer"):
        replaced.around(_C, name, _read)


def _tensors(module: Any) -> Iterator[Tensor]:
    """Yield the tensors of a module of C++, also those that are constants of its code."""
    for name in sorted(_C.ConcreteModuleType.from_jit_type(module._type()).get_attributes()):
        yield from (one for one in tree_leaves(module.getattr(name)) if isinstance(one, Tensor))
    for name in sorted(module._method_names()):
        for node in _nodes(module._get_method(name).graph):
            if node.kind() == "prim::Constant" and node.hasAttribute("value") and node.kindOf("value") == "t":
                yield node.t("value")
    for child in dict(_C.ModuleDict(module).items()).values():
        yield from _tensors(child)


def _write(write: Callable[..., Any], self: Any, *args: Any, _extra_files: Any = None, **kwargs: Any) -> Any:
    devices = json.dumps([str(seen_device(one)) for one in _tensors(self)])
    return write(self, *args, _extra_files={**(_extra_files or {}), _LABELS: devices}, **kwargs)


def _read(
    read: Callable[..., Any], unit: Any, source: Any, map_location: Any, files: dict[str, Any], *args: Any
) -> Any:
    """Load a module; a file that was not written in a rehearsal has the devices that it had in C++."""
    wanted = None if map_location is None else resolve(map_location)
    extra = {**files, _LABELS: ""}
    module = read(unit, source, CPU if wanted is not None and wanted.type == MACHINE.name else wanted, extra, *args)
    devices = json.loads(extra.pop(_LABELS) or "[]")
    files.update(extra)
    for position, one in enumerate(_tensors(module)):
        if wanted is not None or devices:
            put(one, wanted or resolve(devices[position]))
    return module


_library: Any = torch.library.Library("devlint", "DEF")  # type: ignore[no-untyped-call]


def _define(schema: str, function: Callable[..., Any]) -> None:
    _library.define(schema)
    _library.impl(schema.partition("(")[0], function, "CompositeImplicitAutograd")


def _on(made: Tensor, device: torch.device | None) -> Tensor:
    """Give what a factory of the script has made the device that the script names."""
    if device is not None and label(made) == ANYWHERE:
        put(made, resolve(device))
    return made


_define("device(Tensor self) -> Device", seen_device)
for _name in KINDS:
    _define(f"is_{_name}(Tensor self) -> bool", lambda self, name=_name: label(self).type == name)
_define("is_cpu(Tensor self) -> bool", lambda self: seen_device(self) == CPU)
_define("on(Tensor made, Device? device) -> Tensor", _on)
_define("to(Tensor self, Device? device, ScalarType? dtype) -> Tensor", lambda self, *args: to(self, *args))
_define("type_as(Tensor self, Tensor other) -> Tensor", lambda self, other: to(self, other))
_define("cpu(Tensor self) -> Tensor", lambda self: to(self, CPU))
_define("cuda(Tensor self) -> Tensor", lambda self: to(self, "cuda"))

_ASKED = {
    **{f"prim::{name}": name for name in ("device", "is_cpu", *(f"is_{name}" for name in KINDS))},
    **{f"aten::{name}": name for name in ("cpu", "cuda", "type_as")},
}


def _nodes(block: Any) -> Iterator[Any]:
    for node in list(block.nodes()):
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _told(graph: Any) -> Any:
    """Return a copy of a graph that asks for labels; None if it asks for no device."""
    graph, is_changed = graph.copy(), False
    for node in list(_nodes(graph)):
        kind, inputs = node.kind(), list(node.inputs())
        kinds = [one.type().kind() for one in inputs]
        name, given = _ASKED.get(kind, ""), inputs
        if kind == "aten::to" and kinds[1] == "TensorType":
            name, given = "type_as", inputs[:2]
        elif kind == "aten::to" and kinds[1] == "DeviceObjType":
            name, given = "to", inputs[:3]
        elif kind == "aten::_to_copy" and kinds[3] == "DeviceObjType":
            name, given = "to", [inputs[0], inputs[3], inputs[1]]
        elif not name and kind.startswith("aten::") and "DeviceObjType" in kinds and node.outputsSize() == 1:
            name, given = "on", [node.output(), inputs[kinds.index("DeviceObjType")]]
        if name:
            is_changed = True
            new = graph.create(f"devlint::{name}", given, 1)
            new.insertAfter(node)
            new.output().setType(node.output().type())
            node.output().replaceAllUsesWith(new.output())
            if name == "on":
                new.replaceInput(0, node.output())
            else:
                node.destroy()
    return graph if is_changed else None


def _call(call: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    """Run TorchScript's code; its interpreter loses the text of an exception that Python has raised."""
    ASIDE.wake()
    MARKS.refused = None
    try:
        with doing(is_interpreted=True):
            return _interpret(call, self, args, kwargs)
    except RuntimeError as error:
        refused, text = MARKS.refused, str(error)
        if refused is None or error is refused or str(refused) in text:
            raise
        raise type(error)(f"{text.rstrip()} {refused}\n") from None


def _interpret(call: Callable[..., Any], self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if self not in _functions:
        graph = _told(self.inlined_graph)
        _functions[self] = graph and _C._create_function_from_graph(self.name, graph)
    function, given = _functions[self], args
    if function is None or _C._get_tracing_state():
        return call(self, *args, **kwargs)
    if isinstance(self, _C.ScriptMethod):
        given = (self.owner, *args)
    rest = {one.name: one for one in self.schema.arguments[len(given) :]}
    if not kwargs.keys() <= rest.keys() or any(
        name not in kwargs and not one.has_default_value() for name, one in rest.items()
    ):
        return call(self, *args, **kwargs)  # it says what is missing
    return _run(function, *given, *(kwargs.get(name, one.default_value) for name, one in rest.items()))
