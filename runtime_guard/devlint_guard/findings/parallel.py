"""What was set up for one device and runs on another: DataParallel, DistributedDataParallel, and traces of TorchScript.

The line that wraps the module names the devices, so it is the cause, wherever the error is raised. The other tensors of
the program usually are where the module is: the list of devices gives way to the module if it names that device too.

The code of a trace has the devices that its example had, as constants.

    net = torch.jit.trace(Net(), torch.randn(2, 4))     `torch.arange(4, device=x.device)` became `device="cpu"`
    net.cuda()(torch.randn(2, 4).cuda())                so it meets cuda:0
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from devlint_guard.advise.candidates import node_of
from devlint_guard.advise.edits import followed_by, merged, preceded_by, replaced, with_keyword
from devlint_guard.explain.cause import said_of
from devlint_guard.explain.line_values import blamed, finding_about, spelled, whole_expression
from devlint_guard.explain.messages import Message
from devlint_guard.explain.operands import Scene, operand
from devlint_guard.finding import Changes, Finding, Operand, Place, Role, Step
from devlint_guard.program import naming
from devlint_guard.program.expressions import Argument, as_device
from devlint_guard.program.frames import is_installed, shown_path, source_of_file
from devlint_guard.program.functions import Scope, argument_of
from devlint_guard.program.stored import devices_of
from devlint_guard.record.recorder import RECORD
from devlint_guard.record.stacks import Entry, Stack

Wrapper = nn.DataParallel[nn.Module] | DistributedDataParallel


def data_parallel(scene: Scene, message: Message) -> Finding:
    """The finding on a module that DataParallel has found elsewhere, or on devices that it refuses."""
    found = _parallel_operands(scene)
    wanted = next(iter(message.devices), "")
    has = next(iter(message.devices[1:]), "")
    text = f"has to be on {wanted}, the first of its `device_ids`, and has tensors on {has}"
    finding = finding_about(
        "DEV401",
        found,
        text if wanted and has else "does not go with its devices",
        f'move the module first: `.to("{wanted}")`' if wanted else "give CUDA devices only, each once",
        "the inputs may be anywhere: DataParallel scatters them",
        changes=_wrapped_moved(scene, found[0], wanted),
    )
    wrapper = next((one for one in reversed(scene.modules) if isinstance(one, nn.DataParallel)), None)
    return finding if wrapper is None or not has else _of_wrapping(finding, wrapper, has)


def misplaced(scene: Scene) -> Finding | None:
    """The finding on DistributedDataParallel that takes the inputs to another device than that of its module."""
    for wrapper in reversed(scene.modules):
        if isinstance(wrapper, DistributedDataParallel) and wrapper.device_ids:
            device, first = next(iter(devices_of(wrapper.module)), ""), f"cuda:{wrapper.device_ids[0]}"
            if device not in ("", first):
                text = f"takes its inputs to {first}, its `device_ids`, and is on {device}"
                return _of_wrapping(finding_about("DEV402", _parallel_operands(scene), text), wrapper, device)
    return None


# --- the line that wraps ------------------------------------------------------------------------------------


def _of_wrapping(finding: Finding, wrapper: Wrapper, device: str) -> Finding:
    """A finding with the line that wraps the module, where it is recorded, and the change of the devices there."""
    store = RECORD.store_of(wrapper, "module")
    if store is None or not store.stack or store.stack[0].call is None:
        return finding
    first, *others = finding.operands
    finding = replace(finding, operands=(replace(first, history=said_of(store, "is wrapped by")), *others))
    changes = _with_device_first(store.stack, store.stack[0].call, wrapper, torch.device(device).index)
    if not changes:
        return finding
    text = f"name the device of the module, {device}, first: the outputs are gathered there"
    if isinstance(wrapper, DistributedDataParallel):
        text = f"name the device of the module, {device}"
    return replace(finding, help=(text, *finding.help[1:]), changes=changes)


def _with_device_first(stack: Stack, call: ast.Call, wrapper: Wrapper, index: int | None) -> Changes:
    """The list of devices with that of the module first, where it is written out; otherwise in the call that wraps."""
    ids = list(wrapper.device_ids or ())
    is_alone = isinstance(wrapper, DistributedDataParallel)
    if index is None or not (is_alone or index in ids):
        return ()
    ordered = [index] if is_alone else [index, *(one for one in ids if one != index)]
    given = next((one.value for one in call.keywords if one.arg == "device_ids"), None)
    given = call.args[1] if given is None and len(call.args) > 1 else given
    if given is None:
        return with_keyword(_scope(stack[0]), call, "device_ids", str(ordered))
    for entry, node in _passed(stack, given):
        if isinstance(node, (ast.List, ast.Tuple)) and ast.unparse(node).strip("()[]") == ", ".join(map(str, ids)):
            return replaced(_scope(entry), node, str(ordered))
    is_sorted = ordered == sorted(ids) and not is_alone
    return replaced(_scope(stack[0]), given, f"sorted({ast.unparse(given)})" if is_sorted else str(ordered))


def _passed(stack: Stack, node: ast.expr) -> Iterator[tuple[Entry, ast.expr]]:
    """An expression of the innermost recorded line, and what the callers passed for it, while it is a parameter."""
    for entry, caller in zip(stack, (*stack[1:], None), strict=True):
        yield entry, node
        call = None if caller is None else caller.call
        passed = argument_of(call, entry.code, node.id) if call is not None and isinstance(node, ast.Name) else None
        if passed is None:
            break
        node = passed


def _scope(entry: Entry) -> Scope:
    assert entry.source is not None
    return Scope(entry.source, entry.code)


# --- where the line that fails is the one that wraps, or nothing tells of that one -----------------------------


def _wrapped_moved(scene: Scene, found: Operand, wanted: str) -> Changes:
    """A line before the call that moves the module; where it is wrapped on the failing line, the module in the call."""
    place = node_of(scene, found) if wanted and found.role is Role.MODULE else None
    if place is None:
        return ()
    scope, node = place
    operation = scene.operation.node
    if isinstance(operation, ast.Call) and node is operation.func:
        return preceded_by(scope, node, f'{scope.source.of(node)}.to("{wanted}")')
    return followed_by(scope, node, f'.to("{wanted}")')


def distributed(scene: Scene, message: Message) -> Finding:
    """The finding on a module that DistributedDataParallel refuses."""
    found = _parallel_operands(scene)
    return Finding(
        "DEV402",
        f"`{found[0].name}`: the module and its `device_ids` do not go together",
        operands=found,
        help=("move the module to one device and name that one, `device_ids=[local_rank]`; leave it out on the CPU",),
        changes=_moved_to_its_id(scene, found[0]),
    )


def _moved_to_its_id(scene: Scene, found: Operand) -> Changes:
    """The module in the call, moved to the one device that the call names, if the module is on the CPU as a whole."""
    place = node_of(scene, found) if found.role is Role.MODULE else None
    value = None if place is None else place[0].reader.value(place[1])
    match [one.node for one in scene.operation.arguments if one.keyword == "device_ids"]:
        case [ast.List(elts=[one]) | ast.Tuple(elts=[one])] if place is not None and isinstance(value, nn.Module):
            return followed_by(*place, f".to({place[0].source.of(one)})") if devices_of(value) == ["cpu"] else ()
    return ()


def _parallel_operands(scene: Scene) -> tuple[Operand, ...]:
    """The module that is wrapped, or called, and the device ids that it is given."""
    modules = [operand(scene, one) for one in scene.operation.terms if isinstance(one.value, nn.Module)]
    node = scene.operation.node
    if not modules and isinstance(node, ast.Call):
        wrapped = node.func if isinstance(node.func, ast.Call) else next(iter(node.args), node.func)
        modules = [spelled(scene, wrapped, Role.MODULE)]
    ids = [one for one in scene.operation.arguments if one.keyword in ("device_ids", "output_device")]
    ids += [one for one in scene.operation.arguments if not one.keyword and isinstance(one.node, ast.List)]
    # A device that is none of CUDA is wrong with any module.
    ids.sort(key=lambda one: not _is_on_cpu(one))
    named = [spelled(scene, one.node) for one in ids]
    found = [*named, *modules[:1]] if ids and _is_on_cpu(ids[0]) else [*modules[:1], *named]
    return blamed(found) or whole_expression(scene, "")


def _is_on_cpu(argument: Argument) -> bool:
    device = as_device(argument.value)
    return device is not None and device.type == "cpu"


# --- traces -------------------------------------------------------------------------------------------------


_LINE: Final = re.compile(r"^(?P<file>\S.*)\((?P<line>\d+)\): (?P<function>.+)$", re.MULTILINE)
"""A line of the stack that a trace keeps of each operator, the innermost first."""


def traced(scene: Scene, message: Message) -> Finding | None:
    """Return the finding on a trace that has one of the devices in its code, other than that of its parameters."""
    module = scene.modules[-1] if scene.modules else None
    if not isinstance(module, torch.jit.ScriptModule) or len(message.devices) < 2:
        return None
    own = devices_of(module)
    for operator, device, stack in _constants(module):
        if device not in message.devices or device in own:
            continue
        other = next(one for one in message.devices if one != device)
        name = naming.module_path(module, scene.roots) or type(module).__name__
        steps = (
            Step(f"has been a constant on {device} since it was traced", stack[0]),
            Step("was traced by a call here", stack[-1]),
        )
        blamed = Operand(operator, Role.TEMPORARY, device, history=steps, blamed=True)
        return Finding(
            "DEV101",
            f"the code of the trace `{name}` has `{operator}` on {device}, which meets a value on {other}",
            operands=(blamed,),
            help=(f"trace it on {other}: move the module and the example there before `torch.jit.trace`",),
            changes=_traced_on(stack[-1], other),
        )
    return None


def _traced_on(place: Place, device: str) -> Changes:
    """The call of `torch.jit.trace`, with its module and its example on a device."""
    source = source_of_file(place.file)
    for node in ast.walk(source.tree) if source is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="trace"), args=[module, example, *_]) if source is not None:
                if node.lineno <= place.line <= (node.end_lineno or 0):
                    scope = Scope(source, compile("", place.file, "exec"))
                    parts = [module, *(example.elts if isinstance(example, ast.Tuple) else [example])]
                    changes = [followed_by(scope, one, f'.to("{device}")') for one in parts]
                    return merged([change for one in changes for change in one]) if all(changes) else ()
    return ()


def _constants(module: Any) -> Iterator[tuple[str, str, list[Place]]]:
    """Yield each operator of a trace that has a constant device: its name, the device and its stack."""
    for node in module.forward.inlined_graph.nodes():
        for value in node.inputs():
            if value.type().kind() == "DeviceObjType" and value.node().kind() == "prim::Constant":
                stack = list(_LINE.finditer(node.sourceRange()))
                ends = [index for index, one in enumerate(stack, 1) if one["file"].endswith("_trace.py")]
                stack = stack[: ends[-1] + 1] if ends else []
                places = [
                    Place(shown_path(one["file"]), int(one["line"]), function=one["function"])
                    for one in stack
                    if not is_installed(one["file"])
                ]
                if places:
                    yield node.kind().replace("aten::", "torch.", 1), str(value.toIValue()), places
